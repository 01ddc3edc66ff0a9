// OpenAI Agents: the session of a run.

export { CustosSession, type SessionOptions } from './custos-session.ts'
