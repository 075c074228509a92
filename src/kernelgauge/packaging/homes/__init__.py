"""The same package in the form that other libraries load: each holds the package itself, with its guard."""
