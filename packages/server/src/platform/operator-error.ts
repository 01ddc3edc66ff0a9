// What stops a command or a start for a reason its operator can act on.

/** The message is one clear line, without a caller's words; no stack is shown for it. */
export class OperatorError extends Error {}

/** What keeps an offline command from doing its work. */
export class OfflineError extends OperatorError {}
