"""Who foresees: simple predictors to be beaten, and the way in for other people's."""
