"""Recipes as a visitor meets them: the questions that choose them, their fields, their text in a link. Pure data."""
