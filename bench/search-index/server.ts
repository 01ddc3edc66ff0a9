// The service in its own process, for run.ts, which requests measurements over the channel.

import {
  type Kernel,
  parseConfig,
  readEnvironment,
  type Service,
  startService,
} from '@custos/server'
import {
  buildIndex,
  longestBlock,
  measureBuildCosts,
  measureMemory,
  measureSave,
  measureSearches,
  type SearchWorkload,
} from '../../packages/server/src/slices/memory/testing/index-measures.ts'

export type SearchRequest =
  | { readonly act: 'build'; readonly store_id: string }
  | { readonly act: 'memory'; readonly store_id: string }
  | { readonly act: 'save' }
  | { readonly act: 'blocked' }
  | { readonly act: 'parts'; readonly store_id: string; readonly count: number }
  | { readonly act: 'search'; readonly store_id: string; readonly searched: SearchWorkload }

function answer(kernel: Kernel, wish: SearchRequest): Promise<unknown> | unknown {
  if (wish.act === 'build') return buildIndex(kernel, wish.store_id)
  if (wish.act === 'save') return measureSave(kernel)
  if (wish.act === 'blocked') return longestBlock()
  if (wish.act === 'memory') return measureMemory(kernel, wish.store_id)
  if (wish.act === 'parts') return measureBuildCosts(kernel, wish.store_id, wish.count)
  return measureSearches(kernel, wish.store_id, wish.searched)
}

function serve(service: Service): void {
  // Without the bench nobody would stop this process.
  process.once('disconnect', () => process.exit())
  process.on('message', async (wish: SearchRequest | 'stop') => {
    if (wish === 'stop') {
      await service.stop()
      process.exit()
    } else process.send?.(await answer(service.kernel, wish))
  })
  process.send?.(service.url)
}

longestBlock()
if (process.send) serve(await startService(parseConfig(readEnvironment())))
