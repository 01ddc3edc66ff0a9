// The public interface of the conformance suite.

export type { Ref, RetrieveOptions, WriteOptions } from './client/store.ts'
export { ConformanceError, type Leftover } from './client/wire.ts'
export { anomalyOf } from './evaluation/isolation.ts'
export {
  type Expectation,
  expectationsOf,
  type ForbiddenReason,
  type GroundTruth,
  groundTruthOf,
} from './evaluation/oracle.ts'
export {
  leakageOf,
  type Observation,
  precisionOf,
  type ReplayOptions,
  type ReplayStore,
  recallOf,
  replay,
} from './evaluation/replay.ts'
export * from './evaluation/result.ts'
export { type ConformanceOptions, runConformance } from './run.ts'
export { type Workloads, workloadDigest, workloadsOf } from './workloads/all.ts'
export {
  type PlacedTurn,
  type Session,
  type Slot,
  type Trace,
  type TraceFact,
  type Turn,
  turnsInOrder,
} from './workloads/trace.ts'
