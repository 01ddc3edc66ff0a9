// What keeps an offline tool from doing its work, in one line for an operator.

import { OperatorError } from '../platform/operator-error.ts'

export class OfflineError extends OperatorError {}
