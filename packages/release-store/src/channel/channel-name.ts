// channel-name.ts: checks the names of channels. Valid names are safe in the paths of every store.

export const CHANNEL_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
