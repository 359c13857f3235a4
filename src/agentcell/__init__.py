"""Talk to multimodal models from notebook cells."""
