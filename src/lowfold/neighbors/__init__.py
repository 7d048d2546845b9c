"""Nearest neighbours: one search for every metric, the graphs made of it, and their connected components."""
