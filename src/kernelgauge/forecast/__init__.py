"""Forecasts of speed: data sets from records, metrics, and the simple predictors that others must beat."""
