"""How much of a clustering carries over to new data: capacities, transfer costs, stability, nulls, criteria."""
