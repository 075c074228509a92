"""The judge as other programs call theirs: one file for each, which imports that program only when asked to."""
