// The frame of every screen: navigation, store switch, palette, live dot, signed-in caller.

import { memoryListStores } from '@custos/client/operations'
import { Link, Outlet, useNavigate, useParams, useRouterState } from '@tanstack/react-router'
import { LogOut, Menu, Search, X } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { preferences } from '../ambient.ts'
import { LiveProvider, type LiveState, useLive } from '../api/live.tsx'
import { useSession } from '../api/session.tsx'
import { STORE_PATH, useStoreId } from '../api/store-id.ts'
import { useCall } from '../api/use-call.ts'
import { Button, IconButton } from '../parts/button.tsx'
import css from './frame.module.css'
import { GROUPS, isVisible, SCREENS, type ScreenEntry } from './screens.ts'
import { ThemeSwitch } from './theme.tsx'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

export function Frame() {
  const [open, setOpen] = useState(false)
  const [searching, setSearching] = useState(false)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the menu
  useEffect(() => setOpen(false), [path])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setSearching(true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <LiveProvider>
      <a className={css['skip']} href="#main">
        Skip to content
      </a>
      <div className={css['frame']}>
        <header className={css['bar']}>
          <IconButton
            label={open ? 'Close navigation' : 'Open navigation'}
            aria-expanded={open}
            aria-controls="navigation"
            icon={open ? X : Menu}
            onClick={() => setOpen(!open)}
          />
          <Brand />
          <LiveDot />
          <IconButton label="Search" icon={Search} onClick={() => setSearching(true)} />
        </header>
        <div className={css['side']} id="navigation" data-open={open || undefined}>
          <Side onSearch={() => setSearching(true)} />
        </div>
        <main className={css['main']} id="main" tabIndex={-1}>
          <LocalBanner />
          <Outlet />
        </main>
      </div>
      <Suspense>{searching && <Palette open onOpenChange={setSearching} />}</Suspense>
    </LiveProvider>
  )
}

const Brand = () => (
  <Link to="/" className={css['brand']}>
    <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path
        d="M10 1.5 17 4v5.5c0 4.2-2.9 7.3-7 9-4.1-1.7-7-4.8-7-9V4z"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.7"
      />
      <circle cx="10" cy="9.5" r="2.4" fill="currentColor" />
    </svg>
    Custos
  </Link>
)

function Side({ onSearch }: { readonly onSearch: () => void }) {
  const { caller, signOut } = useSession()
  const name = caller.tenant_name ?? caller.tenant_id ?? 'Operator'
  return (
    <>
      <div className={css['head']}>
        <Brand />
        <LiveDot />
      </div>
      <div className={css['place']}>
        <div className={css['tenant']} title={`Tenant ${name}`}>
          {name}
        </div>
        <StoreSwitch />
        <Button icon={Search} onClick={onSearch}>
          Go to… <kbd className={css['kbd']}>Ctrl K</kbd>
        </Button>
      </div>
      <Navigation />
      <footer className={css['foot']}>
        <span className={css['who']}>
          {caller.mode === 'local' ? 'Local mode' : caller.user?.name || caller.key_id}
        </span>
        <ThemeSwitch />
        {caller.mode === 'session' && (
          <IconButton label="Sign out" icon={LogOut} onClick={() => void signOut()} />
        )}
      </footer>
    </>
  )
}

const LIVE_TEXTS: Readonly<Record<LiveState, string>> = {
  off: 'No live updates: the key cannot read the audit log',
  connecting: 'Connecting to the event stream',
  live: 'Live: changes appear by themselves',
  broken: 'Not live: reload the page to connect again',
}

function LiveDot() {
  const { state } = useLive()
  return (
    <span className={css['dot']} data-state={state} title={LIVE_TEXTS[state]}>
      <span className="visually-hidden">{LIVE_TEXTS[state]}</span>
    </span>
  )
}

/** The most stores in the switch. Other stores are in the list and the palette. */
const STORES_SHOWN_MAX = 100

function StoreSwitch() {
  const { can } = useSession()
  const storeId = useStoreId()
  const navigate = useNavigate()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const { data } = useCall(memoryListStores, [{ limit: STORES_SHOWN_MAX }], {
    enabled: can('memory:read'),
  })
  if (!can('memory:read')) return null
  const names = new Map((data?.stores ?? []).map((store) => [store.store_id, store.name]))
  if (!names.has(storeId)) names.set(storeId, null)
  const select = (next: string) => {
    preferences.set('store', next)
    const timeline = STORE_PATH.exec(path)?.[2] === '/timeline'
    const to = timeline ? '/stores/$storeId/timeline' : '/stores/$storeId'
    void navigate({ to, params: { storeId: next }, search: {} })
  }
  return (
    <label className={css['switch']}>
      <span>Store</span>
      <select value={storeId} onChange={({ target }) => select(target.value)}>
        {[...names].map(([id, name]) => (
          <option key={id} value={id}>
            {name === null || name === id ? id : `${name} (${id})`}
          </option>
        ))}
      </select>
    </label>
  )
}

function Navigation() {
  const session = useSession()
  const storeId = useStoreId()
  const shown = SCREENS.filter((screen) => isVisible(screen, session))
  return (
    <nav aria-label="Screens" className={css['nav']}>
      {GROUPS.map((group) => {
        const screens = shown.filter((screen) => screen.group === group)
        return screens.length === 0 ? null : (
          <section key={group} aria-labelledby={`group-${group}`}>
            <h2 id={`group-${group}`}>{group}</h2>
            <ul>
              {screens.map((screen) => (
                <li key={screen.path}>
                  <NavigationLink screen={screen} storeId={storeId} />
                </li>
              ))}
            </ul>
          </section>
        )
      })}
    </nav>
  )
}

function NavigationLink({ screen, storeId }: { screen: ScreenEntry; storeId: string }) {
  const exact = /^\/$|^\/stores(\/\$storeId)?$/.test(screen.path)
  const { registry = 'artifacts' } = useParams({ strict: false })
  const params = { storeId, registry }
  return (
    <Link
      to={screen.path}
      params={params}
      search={{}}
      activeOptions={{ exact, includeSearch: false }}
    >
      {screen.title}
    </Link>
  )
}

function LocalBanner() {
  const { caller } = useSession()
  if (caller.mode !== 'local') return null
  return (
    <p className={css['banner']}>
      Local mode: no credential, loopback only. Everybody on this machine may do everything here.
    </p>
  )
}
