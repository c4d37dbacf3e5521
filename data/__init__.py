"""What ships with Mixdown: sample sources in their raw dialects, the demo target, and the generator that made both."""
