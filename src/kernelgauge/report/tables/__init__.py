"""Tidy tables for other people's tools."""
