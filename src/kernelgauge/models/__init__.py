"""The benchmark as a task of Inspect: contestants that think, asked through Inspect, judged by our evaluator.

Inspect brings providers, retries, rate limits, caches, epochs, logs and the viewer; nothing below this room knows it.
"""
