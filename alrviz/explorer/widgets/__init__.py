"""What several pages are made of: menus, recipes, prices, dialogs, studies."""
