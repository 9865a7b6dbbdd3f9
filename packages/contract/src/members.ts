// members.ts: the members of the answers.

/** The flags of a reputation answer, in the order in which the answer lists them. */
export const REPUTATION_FLAGS = ["is_abuser", "is_proxy", "is_tor_exit"] as const;
export type ReputationFlag = (typeof REPUTATION_FLAGS)[number];
