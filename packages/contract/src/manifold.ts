// The manifold (interface 4.10): decisions laid out by what they say, and what became of them.

import Type, { type Static } from 'typebox'
import { Hex16, Label, Nullable, Timestamp } from './common.ts'
import { operation } from './operation.ts'
import { Dimension, JUDGMENTS, OUTCOMES, VERIFIABILITY_TAGS } from './reputation-records.ts'

/** Decisions that are laid out, the newest of them. */
export const MANIFOLD_DECISIONS_MAX = 20_000

const reading = { access: 'tenant', scope: 'manifold:read', method: 'GET', status: 200 } as const
const Count = Type.Integer({ minimum: 0 })
const Pair = Type.Tuple([Type.Number(), Type.Number()])
const Rows = Type.Array(Type.Array(Type.Number()))
const Query = Type.Object({ dimension: Dimension })

const Point = Type.Object({
  decision_id: Hex16,
  /** Its place on the log of the tenant. */
  log_seq: Type.Integer(),
  x: Type.Number(),
  y: Type.Number(),
  /** Governed decisions only, like all that follow; absent: none was reported. */
  outcome: Type.Optional(Type.Enum(OUTCOMES)),
  agent_handle: Type.Optional(Type.String()),
  /** The key in use of the agent, where it has one. */
  agent_key: Type.Optional(Type.String()),
  verifiability_tag: Type.Optional(Type.Enum(VERIFIABILITY_TAGS)),
  decision: Type.Optional(Type.Enum(JUDGMENTS)),
})
export type ManifoldPoint = Static<typeof Point>

const Agent = Type.Object({
  agent_handle: Type.String(),
  agent_key: Nullable(Type.String()),
  /** The mean of its decisions. */
  x: Type.Number(),
  y: Type.Number(),
  n_decisions: Count,
  /** As `GET /v1/cgr/scores` has it. */
  cgr_score: Type.Number(),
  capability_tier: Type.Null(),
  n_resolved: Count,
  confidence: Type.Number(),
})
export type ManifoldAgent = Static<typeof Agent>

const Field = Type.Object({
  points: Type.Array(Point),
  field: Type.Object({
    /** Nodes along each axis; 0 where there is nothing to show. */
    resolution: Type.Integer(),
    x_range: Pair,
    y_range: Pair,
    /** Standard deviation of the kernel, in the units of the axes. */
    bandwidth: Type.Number(),
    /** The bandwidth as a part of the longer axis. */
    h_frac: Type.Optional(Type.Number()),
    /** Rows by rising y, in them columns by rising x: the expected share of `paid`. */
    grid: Rows,
    /** How many outcomes there are near a node; 0: the grid says 0.5 and knows nothing. */
    support: Rows,
  }),
  agents: Type.Array(Agent),
  variance_explained: Pair,
  meta: Type.Object({
    dimension: Type.String(),
    n_points: Count,
    n_resolved: Count,
    n_embeddings_total: Count,
    truncated: Type.Boolean(),
    source: Type.Literal('decision_embeddings'),
    /** What makes the vectors: the same for every store. */
    model: Type.String(),
    generated_at: Timestamp,
    /** The newest entry of the log this takes account of; null: the log is empty. */
    log_seq: Nullable(Type.Integer()),
    note: Type.Optional(Type.String()),
  }),
})
export type ManifoldField = Static<typeof Field>

const Cell = Type.Object({
  id: Type.String(),
  q: Type.Integer(),
  r: Type.Integer(),
  /** The centre, in pixels of `hex_px` to a cell. */
  x: Type.Number(),
  y: Type.Number(),
  count: Count,
  label: Type.String(),
  /** Up to eight decision ids, the newest. */
  exemplars: Type.Array(Hex16),
  lenses: Type.Object({
    /** Share of `paid` among the resolved; null: none is. */
    paid: Nullable(Type.Number()),
    resolved: Count,
  }),
})
export type ManifoldCell = Static<typeof Cell>

const Export = Type.Object({
  meta: Type.Object({
    version: Type.String(),
    /** Null: nothing is trained, places follow from the decisions alone. */
    somVersion: Type.Null(),
    generatedAt: Timestamp,
    source: Type.Enum(['real-vectors', 'none']),
    /** Cells along each side. */
    somGrid: Pair,
    nSteps: Count,
    nDecisions: Count,
    lenses: Type.Array(Type.String()),
  }),
  /** Cells that hold a decision. */
  cells: Type.Array(Cell),
  /** Of workflows, which there are none of. */
  steps: Type.Array(Type.Unknown(), { maxItems: 0 }),
  edges: Type.Array(Type.Unknown(), { maxItems: 0 }),
  decisions: Type.Array(
    Type.Object({
      decision_id: Hex16,
      log_seq: Type.Integer(),
      cell_id: Type.String(),
      x: Type.Number(),
      y: Type.Number(),
    }),
  ),
  hex_px: Type.Integer(),
  generated_at: Timestamp,
  provenance: Type.Object({
    vectors: Type.Object({
      source: Type.String(),
      model: Type.String(),
      dim: Type.Integer(),
      matched: Count,
      requested: Count,
    }),
    steps: Type.Object({
      source: Type.Literal('none'),
      real_count: Count,
      synthetic_count: Count,
    }),
  }),
})
export type ManifoldExport = Static<typeof Export>

const WHICH =
  'Laid out are the newest 20,000 decisions: those of the decision trail, and those of ' +
  '`/v1/governed/decisions` in the dimension that count. A key limited to some stores sees the ' +
  'trail of these only, and no governed decision, which belongs to no store. '

export const manifold = {
  field: operation({
    ...reading,
    id: 'manifold.field',
    path: '/v1/manifold/field',
    summary: 'Decisions on a plane, the field of their outcomes, and the agents over it',
    description:
      `${WHICH}The plane is that of the first two principal components of the embeddings of ` +
      'what the decisions say now; the field is the mean of a Beta(1, 1) posterior under a ' +
      'Gaussian kernel.',
    query: Query,
    reply: Field,
    refuses: [],
  }),
  picture: operation({
    ...reading,
    id: 'manifold.picture',
    path: '/v1/manifold/field.svg',
    summary: 'The field as a picture',
    description:
      'Readable in black and white: grey is the expected share of `paid`, hatching means that ' +
      'nothing is known there.',
    query: Query,
    reply: Type.String(),
    reply_type: 'image/svg+xml',
    refuses: [],
  }),
  export: operation({
    ...reading,
    id: 'manifold.export',
    path: '/v1/manifold/export',
    summary: 'The plane in hexagonal cells: ids and numbers, no text',
    description: WHICH,
    query: Query,
    reply: Export,
    refuses: [],
  }),
  locate: operation({
    ...reading,
    id: 'manifold.locate',
    path: '/v1/manifold/locate/{step_id}',
    summary: 'Where a decision lies on the plane',
    description: 'Steps of workflows are not located: there are none. Give a decision id.',
    params: Type.Object({ step_id: Label }),
    query: Query,
    reply: Type.Object({
      stepId: Type.String(),
      decision_id: Hex16,
      /** Null, like the place: fewer than three decisions make no plane. */
      cellId: Nullable(Type.String()),
      somVersion: Type.Null(),
      x: Nullable(Type.Number()),
      y: Nullable(Type.Number()),
      log_seq: Type.Integer(),
    }),
    refuses: ['decision_not_found'],
  }),
  clear_cache: operation({
    id: 'manifold.clear_cache',
    access: 'tenant',
    scope: 'compliance:admin',
    method: 'POST',
    path: '/v1/manifold/clear_cache',
    summary: 'Forgets what this process has laid out for the tenant',
    description:
      'Nothing has to be cleared for an answer to be right: what is kept is dropped once a ' +
      'decision was logged, erased or redacted.',
    status: 200,
    reply: Type.Object({ status: Type.Literal('ok'), cleared: Count }),
    refuses: [],
  }),
} as const
