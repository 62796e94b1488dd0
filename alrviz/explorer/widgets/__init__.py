"""What several pages are made of: menus, recipes, costs, dialogs, studies."""
