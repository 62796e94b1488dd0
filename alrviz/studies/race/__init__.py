"""Races: fits side by side, their milestones, their verdict, how they are stored."""
