// GET /v1/manifold/field, /export and /locate/{step_id}, POST /v1/manifold/clear_cache.

import { DIMENSION_DEFAULT, type manifold } from '@custos/contract'
import type { Handler } from '../../platform/kernel/call.ts'
import { cellsOver, fillCells, HEX_PX } from './cells.ts'
import { layOut, layouts } from './layout.ts'
import { drawField } from './picture.ts'
import { EMBEDDER_DIMENSIONS } from './vectors.ts'

const VERSION = '0.1.0'

export const field: Handler<typeof manifold.field> = async (call, { query }) =>
  (await layOut(call, query.dimension ?? DIMENSION_DEFAULT)).field

export const picture: Handler<typeof manifold.picture> = async (call, { query }) =>
  drawField((await layOut(call, query.dimension ?? DIMENSION_DEFAULT)).field)

export const exportManifold: Handler<typeof manifold.export> = async (call, { query }) => {
  const { field } = await layOut(call, query.dimension ?? DIMENSION_DEFAULT)
  const { points, meta } = field
  const cells = cellsOver(field)
  const placed = points.map((point) => cells.cellOf(point))
  const vectors = {
    ...{ source: 'static', model: meta.model, dim: EMBEDDER_DIMENSIONS },
    matched: points.length,
    requested: meta.n_embeddings_total,
  }
  return {
    meta: {
      version: VERSION,
      somVersion: null,
      generatedAt: meta.generated_at,
      source: points.length > 0 ? 'real-vectors' : 'none',
      somGrid: [cells.side, cells.side],
      nSteps: 0,
      nDecisions: points.length,
      lenses: ['paid', 'resolved'],
    },
    cells: fillCells(points, placed),
    steps: [],
    edges: [],
    decisions: points.map(({ decision_id, log_seq, x, y }, at) => {
      const cell_id = placed[at]?.id ?? ''
      return { decision_id, log_seq, cell_id, x, y }
    }),
    hex_px: HEX_PX,
    generated_at: meta.generated_at,
    provenance: {
      vectors,
      steps: { source: 'none', real_count: 0, synthetic_count: 0 },
    },
  }
}

export const locate: Handler<typeof manifold.locate> = async (call, { params, query }) => {
  const { step_id } = params
  const { items, field } = await layOut(call, query.dimension ?? DIMENSION_DEFAULT)
  const at = items.findIndex(({ decision_id }) => decision_id === step_id)
  const item = items[at]
  if (!item) return call.refuse('decision_not_found')
  const point = field.points[at]
  const place = point
    ? { cellId: cellsOver(field).cellOf(point).id, x: point.x, y: point.y }
    : { cellId: null, x: null, y: null }
  const { decision_id, seq } = item
  return { stepId: decision_id, decision_id, ...place, somVersion: null, log_seq: seq }
}

export const clearCache: Handler<typeof manifold.clear_cache> = async ({ kernel, tenant_id }) => ({
  status: 'ok',
  cleared: layouts(kernel).clear(tenant_id),
})
