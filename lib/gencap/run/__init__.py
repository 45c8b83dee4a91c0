"""What a person runs: notebooks, their claims, the report."""
