// Sentences of the language sets in French and European Portuguese.

import { DIGITS, type LanguagePhrases, list, pairs, ROOMS, TRACKS } from './languages-phrases.ts'

export const FRENCH: LanguagePhrases = {
  // No name begins with a vowel: "de" and "que" stay whole before all of them.
  people: list('Bastien; Camille; Didier; Florence; Gilles; Josiane; Loïc; Margaux; Rémi; Solène'),
  months: list(
    'janvier; février; mars; avril; mai; juin; juillet; août; septembre; octobre; novembre; ' +
      'décembre',
  ),
  last_weekdays: list(
    'dimanche dernier; lundi dernier; mardi dernier; mercredi dernier; jeudi dernier; ' +
      'vendredi dernier; samedi dernier',
  ),
  yesterday: 'hier',
  two_weeks_ago: 'il y a deux semaines',
  on_date: 'le {d} {m}',
  on_digits: 'le {d}/{m}/{y}',
  in_month: 'en {m} {y}',
  direct: [
    {
      says: 'Je suis allergique {v}.',
      asks: 'À quoi est allergique {p} ?',
      values: list(
        'aux cacahuètes; au céleri; à la moutarde; au sésame; aux noisettes; aux fraises',
      ),
    },
    {
      says: "Mon chien s'appelle {v}.",
      asks: "Comment s'appelle le chien de {p} ?",
      values: list('Caramel; Truffe; Filou; Nuage; Biscotte; Pirate'),
    },
    {
      says: "J'apprends {v} à l'école de musique.",
      asks: "Quel instrument apprend {p} à l'école de musique ?",
      values: list('le violon; le piano; la trompette; la harpe; la clarinette; la batterie'),
    },
    {
      says: 'Mon plat préféré est {v}.',
      asks: 'Quel est le plat préféré de {p} ?',
      values: list(
        "la ratatouille; le gratin de courge; la soupe à l'oignon; le riz au lait; la quiche; " +
          'le tajine',
      ),
    },
    {
      says: 'La clé de secours est {v}.',
      asks: 'Où est la clé de secours de {p} ?',
      values: list(
        'sous le paillasson; dans le pot de fleurs; derrière la boîte aux lettres; ' +
          "sous l'arrosoir; dans le garage; sur l'armoire",
      ),
    },
    {
      says: 'Mon train part de la voie {v}.',
      asks: 'De quelle voie part le train de {p} ?',
      values: TRACKS,
    },
    {
      says: "J'ai réservé l'hôtel {v}.",
      asks: 'Quel hôtel a réservé {p} ?',
      values: list('Bellevue; Montana; Les Trois Chênes; Villa Flora; Aurore; Grand Large'),
    },
    {
      says: 'Je regarde la série {v}.',
      asks: 'Quelle série regarde {p} ?',
      values: list(
        'Le dernier rivage; Hiver au port; Neuf marches; La vallée du sel; Lumière du nord; ' +
          'Papier mouillé',
      ),
    },
  ],
  nouns: [
    {
      says: 'Nous avons acheté deux {v}.',
      asks: 'Qui possède {f} ?',
      forms: pairs(
        'chevaux/un cheval; tableaux/un tableau; bateaux/un bateau; lampes/une lampe; ' +
          'fauteuils/un fauteuil; manteaux/un manteau',
      ),
    },
    {
      says: 'Dans le jardin poussent maintenant des {v}.',
      asks: 'Chez qui pousse {f} ?',
      forms: pairs(
        'pommiers/un pommier; rosiers/un rosier; tournesols/un tournesol; ' +
          'citrouilles/une citrouille; noyers/un noyer; tulipes/une tulipe',
      ),
    },
    {
      says: 'Je collectionne les {v}.',
      asks: 'Qui a {f} dans sa collection ?',
      forms: pairs(
        'montres/une montre; cartes postales/une carte postale; timbres/un timbre; ' +
          'poupées/une poupée; bijoux/un bijou; vitraux/un vitrail',
      ),
    },
  ],
  verbs: [
    {
      says: "J'écrivais de longues lettres {v}.",
      asks: 'À qui écrit {p} ?',
      values: list('à ma tante; au maire; au journal; à mon professeur'),
    },
    {
      says: "J'ai dormi une nuit à {v} pendant le voyage.",
      asks: 'Dans quelle ville dort {p} en voyage ?',
      values: list('Bruxelles; Turin; Genève; Séville'),
    },
    {
      says: "J'ai trouvé {v} au grenier.",
      asks: 'Que trouve {p} au grenier ?',
      values: list('un violon; un casque; de vieilles lettres; une radio'),
    },
    {
      says: 'Je buvais {v} tous les soirs.',
      asks: 'Que boit {p} le soir ?',
      values: list('du thé à la menthe; du cacao; du jus de pomme; du lait au miel'),
    },
    {
      says: "J'ai lu un livre sur {v}.",
      asks: 'Sur quel sujet lit {p} ?',
      values: list('les volcans; les champignons; les voiliers; les abeilles'),
    },
    {
      says: "J'ai aidé {v} à déménager.",
      asks: "Qui reçoit l'aide de {p} pour un déménagement ?",
      values: list('ma sœur; mon collègue; les voisins; mon oncle'),
    },
  ],
  events: [
    ["J'ai vu le dentiste {w}.", 'Quand est-ce que {p} a vu le dentiste ?'],
    ["J'ai repeint la cuisine {w}.", 'Quand est-ce que {p} a repeint la cuisine ?'],
    ["J'ai vendu la voiture {w}.", 'Quand est-ce que {p} a vendu la voiture ?'],
    ["On m'a volé mon vélo {w}.", "Quand est-ce qu'on a volé le vélo de {p} ?"],
    ["J'ai couru le semi-marathon {w}.", 'Quand est-ce que {p} a couru le semi-marathon ?'],
    ["J'ai donné mon sang {w}.", 'Quand est-ce que {p} a donné son sang ?'],
    ["J'ai réussi l'examen {w}.", "Quand est-ce que {p} a réussi l'examen ?"],
    ["J'ai adopté un chat {w}.", 'Quand est-ce que {p} a adopté un chat ?'],
  ],
  asks_on: "Qu'est-ce qui est arrivé à {p} {w} ?",
  changing: [
    {
      says: "J'habite à {v}.",
      says_again: "J'ai déménagé et j'habite maintenant à {v}.",
      asks: 'Où habite {p} ?',
      values: list('Nantes; Dijon; Lille; Rouen; Grenoble; Perpignan'),
    },
    {
      says: 'Mon bureau est dans la salle {v}.',
      says_again: "À partir d'aujourd'hui, mon bureau est dans la salle {v}.",
      asks: 'Dans quelle salle est le bureau de {p} ?',
      values: ROOMS,
    },
    {
      says: 'Mon numéro de téléphone finit par {v}.',
      says_again: "J'ai un nouveau numéro de téléphone, il finit par {v}.",
      asks: 'Par quels chiffres finit le numéro de téléphone de {p} ?',
      values: DIGITS,
    },
    {
      says: 'Je vais au travail {v}.',
      says_again: 'Maintenant, je vais au travail {v}.',
      asks: 'Comment {p} va au travail ?',
      values: list('à vélo; en bus; en tramway; en voiture; en bateau; à pied'),
    },
  ],
  small_talk: [
    'Le ciel est gris depuis des jours.',
    "J'ai très sommeil aujourd'hui.",
    'Tu as le temps jeudi ?',
    'Il faut bientôt dîner ensemble.',
    'Le bus est encore arrivé en retard.',
    "J'ai encore oublié mon parapluie.",
    'Merci, cela me fait très plaisir.',
    'Les voisins font encore la fête.',
    'Ici, tout est très calme en ce moment.',
    'La réunion a duré des heures.',
    "J'ai fait beaucoup trop à manger.",
    "C'est une très bonne nouvelle.",
    "Ma grand-mère m'a envoyé une carte.",
    "Mon téléphone n'a presque plus de batterie.",
    'Le chauffage est en panne.',
    "J'ai mal dormi.",
    'Dimanche, il y a un marché au centre.',
    'Tu me raconteras le reste plus tard.',
    'Je dois encore faire les courses.',
    'La rue est encore en travaux.',
    'Nous avons joué aux cartes.',
    "J'attends le week-end avec impatience.",
  ],
}

export const PORTUGUESE: LanguagePhrases = {
  people: list('Afonso; Beatriz; Catarina; Duarte; Filipa; Gonçalo; Inês; João; Leonor; Tomás'),
  months: list(
    'janeiro; fevereiro; março; abril; maio; junho; julho; agosto; setembro; outubro; novembro; ' +
      'dezembro',
  ),
  last_weekdays: list(
    'no domingo passado; na segunda-feira passada; na terça-feira passada; ' +
      'na quarta-feira passada; na quinta-feira passada; na sexta-feira passada; ' +
      'no sábado passado',
  ),
  yesterday: 'ontem',
  two_weeks_ago: 'há duas semanas',
  on_date: 'no dia {d} de {m}',
  on_digits: 'no dia {d}/{m}/{y}',
  in_month: 'em {m} de {y}',
  direct: [
    {
      says: 'Tenho alergia {v}.',
      asks: 'A que é que {p} tem alergia?',
      values: list('a amendoins; ao aipo; à mostarda; ao sésamo; às avelãs; aos morangos'),
    },
    {
      says: 'O meu cão chama-se {v}.',
      asks: 'Como se chama o cão de {p}?',
      values: list('Canela; Trufa; Bolota; Faísca; Pipoca; Nuvem'),
    },
    {
      says: 'Aprendo {v} na escola de música.',
      asks: 'Que instrumento aprende {p} na escola de música?',
      values: list('violino; piano; trompete; harpa; clarinete; bateria'),
    },
    {
      says: 'O meu prato favorito é {v}.',
      asks: 'Qual é o prato favorito de {p}?',
      values: list(
        'o caldo verde; a feijoada; o arroz de polvo; a sopa de lentilhas; o bacalhau com natas; ' +
          'a açorda',
      ),
    },
    {
      says: 'A chave suplente está {v}.',
      asks: 'Onde está a chave suplente de {p}?',
      values: list(
        'debaixo do tapete; no vaso; atrás da caixa do correio; por baixo do regador; ' +
          'na garagem; em cima do armário',
      ),
    },
    {
      says: 'O meu comboio parte da linha {v}.',
      asks: 'De que linha parte o comboio de {p}?',
      values: TRACKS,
    },
    {
      says: 'Reservei o hotel {v}.',
      asks: 'Que hotel reservou {p}?',
      values: list('Miramar; As Palmeiras; Montana; Três Carvalhos; Vila Flora; Aurora'),
    },
    {
      says: 'Estou a ver a série {v}.',
      asks: 'Que série está {p} a ver?',
      values: list(
        'A última margem; Inverno no porto; Nove degraus; O vale do sal; Luz do norte; ' +
          'Papel molhado',
      ),
    },
  ],
  nouns: [
    {
      says: 'Comprámos {v}.',
      asks: 'Quem tem {f}?',
      forms: pairs(
        'dois armários/um armário; duas bicicletas/uma bicicleta; duas galinhas/uma galinha; ' +
          'dois dicionários/um dicionário; dois colchões/um colchão; dois candeeiros/um candeeiro',
      ),
    },
    {
      says: 'No jardim crescem agora {v}.',
      asks: 'Em casa de quem cresce {f}?',
      forms: pairs(
        'macieiras/uma macieira; roseiras/uma roseira; girassóis/um girassol; ' +
          'abóboras/uma abóbora; nogueiras/uma nogueira; tulipas/uma tulipa',
      ),
    },
    {
      says: 'Coleciono {v}.',
      asks: 'Quem tem {f} na coleção?',
      forms: pairs(
        'moedas/uma moeda; relógios/um relógio; mapas/um mapa; selos/um selo; ' +
          'bonecas/uma boneca; postais/um postal',
      ),
    },
  ],
  verbs: [
    {
      says: 'Escrevi uma longa carta {v}.',
      asks: 'A quem costuma escrever {p}?',
      values: list('à minha tia; ao presidente da câmara; ao jornal; à minha professora'),
    },
    {
      says: 'Voei para casa com escala em {v}.',
      asks: 'Em que cidade faz escala {p} quando voa para casa?',
      values: list('Madrid; Paris; Genebra; Londres'),
    },
    {
      says: 'Encontrei {v} no sótão.',
      asks: 'O que encontra {p} no sótão?',
      values: list('um violino; um capacete; cartas antigas; um rádio'),
    },
    {
      says: 'Bebia {v} todas as noites.',
      asks: 'O que bebe {p} à noite?',
      values: list('chá de menta; cacau; sumo de maçã; leite com mel'),
    },
    {
      says: 'Li um livro sobre {v}.',
      asks: 'Sobre que tema lê {p}?',
      values: list('vulcões; cogumelos; veleiros; abelhas'),
    },
    {
      says: 'Ajudei {v} na mudança.',
      asks: 'Quem é que {p} ajuda a mudar de casa?',
      values: list('a minha irmã; o meu colega; os vizinhos; o meu tio'),
    },
  ],
  events: [
    ['Fui ao dentista {w}.', 'Quando é que {p} foi ao dentista?'],
    ['Pintei a cozinha {w}.', 'Quando é que {p} pintou a cozinha?'],
    ['Vendi o carro {w}.', 'Quando é que {p} vendeu o carro?'],
    ['Roubaram-me a bicicleta {w}.', 'Quando é que roubaram a bicicleta a {p}?'],
    ['Corri a meia maratona {w}.', 'Quando é que {p} correu a meia maratona?'],
    ['Dei sangue {w}.', 'Quando é que {p} deu sangue?'],
    ['Passei no exame {w}.', 'Quando é que {p} passou no exame?'],
    ['Adotei um gato {w}.', 'Quando é que {p} adotou um gato?'],
  ],
  asks_on: 'O que aconteceu a {p} {w}?',
  changing: [
    {
      says: 'Moro em {v}.',
      says_again: 'Mudei de casa e agora moro em {v}.',
      asks: 'Onde mora {p}?',
      values: list('Lisboa; Braga; Coimbra; Faro; Évora; Viseu'),
    },
    {
      says: 'O meu gabinete é a sala {v}.',
      says_again: 'A partir de hoje o meu gabinete é a sala {v}.',
      asks: 'Em que sala é o gabinete de {p}?',
      values: ROOMS,
    },
    {
      says: 'O meu número de telefone termina em {v}.',
      says_again: 'Tenho um novo número de telefone, que termina em {v}.',
      asks: 'Em que algarismos termina o número de telefone de {p}?',
      values: DIGITS,
    },
    {
      says: 'Vou para o trabalho {v}.',
      says_again: 'Agora vou para o trabalho {v}.',
      asks: 'Como vai {p} para o trabalho?',
      values: list('de bicicleta; de autocarro; de elétrico; de carro; de barco; a pé'),
    },
  ],
  small_talk: [
    'O céu está cinzento há dias.',
    'Hoje estou com muito sono.',
    'Tens tempo na quinta-feira?',
    'Temos de jantar juntos em breve.',
    'O autocarro chegou outra vez atrasado.',
    'Esqueci-me outra vez do guarda-chuva.',
    'Fico muito feliz por saber isso.',
    'Os vizinhos estão outra vez em festa.',
    'Aqui está tudo muito calmo.',
    'A reunião durou horas.',
    'Cozinhei demasiado.',
    'Isso parece maravilhoso.',
    'A minha avó mandou-me um postal.',
    'O meu telemóvel está quase sem bateria.',
    'O aquecimento não funciona.',
    'Dormi mal.',
    'No domingo há mercado no centro.',
    'Conta-me o resto mais tarde.',
    'Ainda tenho de ir às compras.',
    'A rua está outra vez em obras.',
    'Ontem à noite jogámos às cartas.',
    'Mal posso esperar pelo fim de semana.',
  ],
}
