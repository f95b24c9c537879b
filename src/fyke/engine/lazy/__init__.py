"""The engines that store events and bind the rarest first ([L])."""
