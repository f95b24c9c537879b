"""The lazy engines: they store events and bind the rarest first ([L])."""
