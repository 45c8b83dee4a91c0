"""What a person sees: figures and explorers."""
