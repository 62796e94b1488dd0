"""Widgets that several pages use: menus, recipes, costs, model export, studies."""
