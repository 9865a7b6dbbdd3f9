// The rows that several packages must agree on. This package imports nothing, and a row never refers to a place by
// position or count.

export { REPUTATION_FLAGS, type ReputationFlag } from "./members.ts";
export {
  ADMIN_PROBLEM_CODES,
  ADMIN_PROBLEMS,
  type AdminProblemCode,
  CLIENT_PROBLEMS,
  INSUFFICIENT_SCOPE,
  PROBLEM_CODES,
  PROBLEMS,
  type ProblemCode,
  type ProblemRow,
} from "./problems.ts";
