// The manifold: a map of decisions by their content, with their outcomes.

import Type, { type Static } from 'typebox'
import {
  about,
  count,
  Hex16,
  integer,
  Label,
  Nullable,
  number,
  text,
  time,
} from '../core/common.ts'
import { operation } from '../core/operation.ts'
import { Dimension, Judgment, OutcomeName, VerifiabilityTag } from './reputation-records.ts'

/** The most decisions on the map; the newest ones are shown. */
export const MANIFOLD_DECISIONS_MAX = 20_000

const reading = { access: 'tenant', scope: 'manifold:read', method: 'GET', status: 200 } as const
const pair = (description: string) => Type.Tuple([Type.Number(), Type.Number()], { description })
const rows = (description: string) => Type.Array(Type.Array(Type.Number()), { description })
const Query = Type.Object({ dimension: Dimension })
const generatedAt = time('When the map was computed')

const Point = Type.Object({
  decision_id: Hex16,
  log_seq: Type.Integer(),
  x: number('Position on the first axis'),
  y: number('Position on the second axis'),
  outcome: Type.Optional(
    about(OutcomeName, 'Outcome of a governed decision; absent: none was reported'),
  ),
  agent_handle: Type.Optional(text('Handle of the agent of a governed decision')),
  agent_key: Type.Optional(text('Current key of the agent, if it has one')),
  verifiability_tag: Type.Optional(VerifiabilityTag),
  decision: Type.Optional(Judgment),
})
export type ManifoldPoint = Static<typeof Point>

const Agent = Type.Object({
  agent_handle: text('Handle of the agent'),
  agent_key: Nullable(text('Current key of the agent')),
  x: number('Mean position of its decisions on the first axis'),
  y: number('Mean position of its decisions on the second axis'),
  n_decisions: count('Decisions on the map'),
  cgr_score: number('Score, as in `GET /v1/cgr/scores`'),
  capability_tier: Type.Null({ description: 'Reserved' }),
  n_resolved: count('Resolved decisions'),
  confidence: number('Weight of the posterior'),
})
export type ManifoldAgent = Static<typeof Agent>

const Field = Type.Object({
  points: Type.Array(Point, { description: 'The decisions' }),
  field: Type.Object(
    {
      resolution: integer('Nodes along each axis; 0 if there is nothing to show'),
      x_range: pair('Range of the first axis'),
      y_range: pair('Range of the second axis'),
      bandwidth: number('Standard deviation of the kernel, in the units of the axes'),
      h_frac: Type.Optional(number('The bandwidth as a fraction of the longer axis')),
      grid: rows('Expected share of `paid`: rows by ascending y, columns by ascending x'),
      support: rows('Weight of the outcomes near each node; 0: the grid has 0.5 for lack of data'),
    },
    { description: 'The outcomes as a field over the map' },
  ),
  agents: Type.Array(Agent, { description: 'The agents' }),
  variance_explained: pair('Share of the variance along each axis'),
  meta: Type.Object(
    {
      dimension: text('Subject area'),
      n_points: count('Decisions on the map'),
      n_resolved: count('Decisions with a known outcome'),
      n_embeddings_total: count('Decisions that could be on the map'),
      truncated: Type.Boolean({ description: 'Whether older decisions were left out' }),
      source: Type.Literal('decision_embeddings', { description: 'Origin of the vectors' }),
      model: text('Embedding model, the same for every store'),
      generated_at: generatedAt,
      log_seq: Nullable(integer('Newest log entry that is counted; null: the audit log is empty')),
      note: Type.Optional(text('What to consider when reading the map')),
    },
    { description: 'How the map was computed' },
  ),
})
export type ManifoldField = Static<typeof Field>

const Cell = Type.Object({
  id: text('Id of the cell'),
  q: integer('Axial coordinate q'),
  r: integer('Axial coordinate r'),
  x: number('Centre of the cell in pixels'),
  y: number('Centre of the cell in pixels'),
  count: count('Decisions in the cell'),
  label: text('Label of the cell'),
  exemplars: Type.Array(Hex16, { description: 'Ids of up to eight decisions, the newest' }),
  lenses: Type.Object(
    {
      paid: Nullable(number('Share of `paid` among the resolved decisions; null: none is')),
      resolved: count('Resolved decisions'),
    },
    { description: 'Values by which the cells can be coloured' },
  ),
})
export type ManifoldCell = Static<typeof Cell>

const Export = Type.Object({
  meta: Type.Object(
    {
      version: text('Version of the export format'),
      somVersion: Type.Null({ description: 'Always null: nothing is trained' }),
      generatedAt,
      source: Type.Enum(['real-vectors', 'none'], { description: 'Origin of the vectors' }),
      somGrid: pair('Cells along each side'),
      nSteps: count('Always 0'),
      nDecisions: count('Decisions on the map'),
      lenses: Type.Array(Type.String(), { description: 'Names of the lenses of a cell' }),
    },
    { description: 'How the map was computed' },
  ),
  cells: Type.Array(Cell, { description: 'Cells that contain a decision' }),
  steps: Type.Array(Type.Unknown(), { maxItems: 0, description: 'Always empty' }),
  edges: Type.Array(Type.Unknown(), { maxItems: 0, description: 'Always empty' }),
  decisions: Type.Array(
    Type.Object({
      decision_id: Hex16,
      log_seq: Type.Integer(),
      cell_id: text('Id of the cell'),
      x: number('Position on the first axis'),
      y: number('Position on the second axis'),
    }),
    { description: 'The decisions' },
  ),
  hex_px: integer('Size of a cell in pixels'),
  generated_at: generatedAt,
  provenance: Type.Object(
    {
      vectors: Type.Object(
        {
          source: text('Origin of the vectors'),
          model: text('Embedding model'),
          dim: integer('Dimensions of the vectors'),
          matched: count('Decisions with a vector'),
          requested: count('Decisions'),
        },
        { description: 'Origin of the vectors' },
      ),
      steps: Type.Object(
        {
          source: Type.Literal('none', { description: 'Always `none`' }),
          real_count: count('Always 0'),
          synthetic_count: count('Always 0'),
        },
        { description: 'Steps of workflows, of which there are none' },
      ),
    },
    { description: 'Origin of the data' },
  ),
})
export type ManifoldExport = Static<typeof Export>

const WHICH =
  'The map shows the newest 20,000 decisions: those of the decision trail, and those of ' +
  '`/v1/governed/decisions` that count in the dimension. A key limited to some stores sees the ' +
  'decisions of these stores and no governed decisions, which belong to no store. '

export const manifold = {
  field: operation({
    ...reading,
    id: 'manifold.field',
    path: '/v1/manifold/field',
    summary: 'Returns a map of decisions with the field of their outcomes and the agents',
    description:
      `Use it to see where decisions go well or badly. ${WHICH}The plane is that of the first ` +
      'two principal components of the embeddings; the field is the mean of a Beta(1, 1) ' +
      'posterior under a Gaussian kernel.',
    query: Query,
    reply: Field,
    refuses: [],
  }),
  picture: operation({
    ...reading,
    id: 'manifold.picture',
    path: '/v1/manifold/field.svg',
    summary: 'Returns the map as an SVG picture',
    description:
      'Use it in reports. It is readable in black and white: grey is the expected share of ' +
      '`paid`, hatching means that there is no data.',
    query: Query,
    reply: Type.String(),
    reply_type: 'image/svg+xml',
    refuses: [],
  }),
  export: operation({
    ...reading,
    id: 'manifold.export',
    path: '/v1/manifold/export',
    summary: 'Returns the map in hexagonal cells, as ids and numbers without text',
    description: `Use it to draw the map in another tool. ${WHICH}`.trim(),
    query: Query,
    reply: Export,
    refuses: [],
  }),
  locate: operation({
    ...reading,
    id: 'manifold.locate',
    path: '/v1/manifold/locate/{step_id}',
    summary: 'Returns the position of a decision on the map',
    description: 'Use it to find a decision on the map. `step_id` is the id of a decision.',
    params: Type.Object({ step_id: about(Label, 'Id of the decision') }),
    query: Query,
    reply: Type.Object({
      stepId: text('Id of the decision'),
      decision_id: Hex16,
      cellId: Nullable(text('Id of the cell; null, like `x` and `y`, below three decisions')),
      somVersion: Type.Null({ description: 'Always null: nothing is trained' }),
      x: Nullable(number('Position on the first axis')),
      y: Nullable(number('Position on the second axis')),
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
    summary: 'Discards the cached maps of the tenant in this process',
    description:
      'Use it to free memory. Replies never depend on it: a cached map is discarded whenever a ' +
      'decision is logged, erased or redacted.',
    status: 200,
    reply: Type.Object({
      status: Type.Literal('ok', { description: 'Always `ok`' }),
      cleared: count('Cached maps that were discarded'),
    }),
    refuses: [],
  }),
} as const
