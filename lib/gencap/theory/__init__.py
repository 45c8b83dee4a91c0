"""Rooms of single lessons with their own mathematics: codes, sets of good solutions, phases, ranks."""
