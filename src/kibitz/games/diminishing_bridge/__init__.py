"""DiminishingBridge: Boerenbridge, Oh Hell."""
