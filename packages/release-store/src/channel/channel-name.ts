// channel-name.ts: the names that a channel may have: safe in paths of every store.

export const CHANNEL_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
