"""What a person sees: figures and explorers."""

from ..resources import require

require("plots", "matplotlib", "PIL")
