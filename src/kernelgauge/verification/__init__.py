"""Is a problem what it says it is, and does it say anything? By running it, against recorded facts."""
