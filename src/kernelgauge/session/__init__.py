"""Everything put together for one machine, and a contestant on a part of the suite."""
