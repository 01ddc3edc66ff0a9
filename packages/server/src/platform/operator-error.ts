// Errors that stop a command or the start for a reason that the operator can fix.

/** The message is one clear line without input of callers, and is shown without a stack. */
export class OperatorError extends Error {}

/** An offline command cannot do its work. */
export class OfflineError extends OperatorError {}
