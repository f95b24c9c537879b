"""Why a query has no match: what happened to the events, and the smallest change that would have matched."""
