// The public interface of the conformance suite.

export { type Anomaly, anomalyOf } from './isolation.ts'
export {
  type Expectation,
  expectationsOf,
  type ForbiddenReason,
  type GroundTruth,
  groundTruthOf,
} from './oracle.ts'
export {
  leakageOf,
  type Observation,
  precisionOf,
  type ReplayOptions,
  type ReplayStore,
  recallOf,
  replay,
} from './replay.ts'
export * from './result.ts'
export { type ConformanceOptions, runConformance } from './run.ts'
export type { Ref, RetrieveOptions, WriteOptions } from './store.ts'
export {
  type PlacedTurn,
  type Session,
  type Slot,
  type Trace,
  type TraceFact,
  type Turn,
  turnsInOrder,
} from './trace.ts'
export { type Workloads, workloadDigest, workloadsOf } from './workloads/all.ts'
