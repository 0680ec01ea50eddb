"""From token vectors to parts of speech and dependencies, and to vectors that know of them."""
