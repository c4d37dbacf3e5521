"""The screens: one file each. They read core, draw, and start runs; app.py maps them to addresses."""
