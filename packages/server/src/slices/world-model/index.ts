// The face of the world model: handlers, the action registry for approvals, types for templates.

import type { worldModel } from '@custos/contract'
import type { HandlersOf } from '../../platform/kernel/call.ts'
import { registryHandlers } from '../records/index.ts'
import { actionStats, invoke, verifyAction } from './action-operations.ts'
import { actionRegistry, actionView } from './action-registry.ts'
import { getType, listTypes, registerType, verifyType } from './type-operations.ts'
import { validateLink, validateObject } from './validate.ts'

export { actionRegistry } from './action-registry.ts'
export { findProblems, showProblem } from './check-run.ts'
export { findType } from './find-types.ts'
export { readJsonSchema, SpecRefused } from './json-schema.ts'
export { typeRegistry } from './type-registry.ts'

const actions = registryHandlers(actionRegistry, actionView)

export const worldModelHandlers = {
  register_type: registerType,
  list_types: listTypes,
  get_type: getType,
  verify_type: verifyType,
  validate_object: validateObject,
  validate_link: validateLink,
  invoke,
  list_actions: actions.list,
  action_stats: actionStats,
  get_action: actions.get,
  verify_action: verifyAction,
  approve_action: actions.approve,
  reject_action: actions.reject,
} satisfies HandlersOf<typeof worldModel>
