// The evaluator against a second one, on a hundred thousand random policy sets and requests.

import { test } from 'node:test'
import { assertAgreement } from '../testing/agreement.ts'

test('a hundred thousand random policy sets get what a plain evaluator gives', () =>
  assertAgreement(100_000))
