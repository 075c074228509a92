"""Does this installation judge as it must?"""
