// The face of the identity slice: its handlers, and sessions for the edge and for streams.

export { identityHandlers } from './operations.ts'
export { userTextSource } from './people.ts'
export { findBySession, findBySessionId, isInForce, sweepSessions } from './sessions.ts'
export { connectionTextSource, ownAddress } from './sso-connection.ts'
