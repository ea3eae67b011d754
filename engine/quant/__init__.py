"""Weight precisions: canonical layouts, slow references, and the packing each kernel wants."""
