"""Objectives: the penalised losses that solvers minimise, by model."""
