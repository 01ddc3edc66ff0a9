// The face of the world model: its registries for higher slices, handlers for the HTTP layer.

import type { worldModel } from '@custos/contract'
import type { HandlersOf } from '../../platform/call.ts'
import { actionStats, getAction, listActions, verifyAction } from './action-reads.ts'
import { approveAction, rejectAction } from './decide-action.ts'
import { invoke } from './invoke.ts'
import { registerType } from './register-type.ts'
import { getType, listTypes, verifyType } from './type-reads.ts'
import { validateLink, validateObject } from './validate.ts'

export { actionRegistry } from './action-registry.ts'
export { findType, type OpenType } from './find-types.ts'
export { typeRegistry } from './type-registry.ts'

export const worldModelHandlers = {
  register_type: registerType,
  list_types: listTypes,
  get_type: getType,
  verify_type: verifyType,
  validate_object: validateObject,
  validate_link: validateLink,
  invoke,
  list_actions: listActions,
  action_stats: actionStats,
  get_action: getAction,
  verify_action: verifyAction,
  approve_action: approveAction,
  reject_action: rejectAction,
} satisfies HandlersOf<typeof worldModel>
