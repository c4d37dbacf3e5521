"""The fact base: an invented but consistent world of towns, makers, animals and dishes that a small model can memorise.

It holds what is true. It does not know how it is asked or answered.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Town:
    """A town of the invented country and what it is known for."""

    name: str
    region: str
    river: str
    mountain: str
    craft: str
    founded: int
    festival: str
    dish: str


@dataclass(frozen=True)
class Maker:
    """An inventor, writer or traveller."""

    name: str
    born: int
    town: str
    deed: str
    year: int
    trade: str


@dataclass(frozen=True)
class Animal:
    """An animal, its home and habits."""

    name: str
    home: str
    food: str
    trait: str
    young: str
    group: str


@dataclass(frozen=True)
class Dish:
    """A dish: what goes in and the steps."""

    name: str
    ingredients: tuple[str, ...]
    steps: tuple[str, ...]
    minutes: int


_TOWNS = """
Velmora|Northmark|Issel|Grey Tooth|glass bowls|1204|the Lantern Walk|smoked trout
Harrowick|Northmark|Issel|Mount Cairn|wool blankets|987|the Sheep Fair|barley soup
Tessaly|Southvale|Orrin|Amber Hill|painted tiles|1340|the Tile Market|lemon cake
Brandeth|Southvale|Orrin|Mount Solen|oak barrels|1112|the Cooper's Run|plum dumplings
Quillon|Westreach|Marrow|Needle Peak|paper kites|1489|the Kite Day|mushroom pie
Oskaby|Westreach|Marrow|Stone Crown|fishing nets|1051|the Net Mending|herring salad
Pellin|Eastholm|Tamber|Mount Ardo|copper kettles|1276|the Kettle Song|onion bread
Lunedale|Eastholm|Tamber|Wolf's Back|silver bells|1398|the Bell Night|honey biscuits
Farrenport|Saltcoast|Wendle|Gull Rock|sailing boats|1163|the Boat Race|crab stew
Mirefield|Saltcoast|Wendle|Low Barrow|reed baskets|1245|the Reed Cutting|pea porridge
Ashgrove|Midlands|Corrin|Mount Elder|wooden flutes|1307|the Flute Evening|apple tart
Dunmarsh|Midlands|Corrin|Heron Hill|clay pots|1022|the Potter's Week|bean stew
Kestrel Bay|Saltcoast|Sander|Lookout Head|woven sails|1410|the Tide Dance|fried squid
Thornbury Cross|Midlands|Sander|Bramble Top|iron gates|1139|the Gate Opening|rabbit stew
Ilverstone|Northmark|Frost Beck|White Giant|warm gloves|1455|the Snow Parade|potato pancakes
Rookhaven|Westreach|Frost Beck|Crow Ridge|black ink|1378|the Poem Contest|blackberry jam
Sallowford|Southvale|Lenne|Willow Rise|willow chairs|1217|the River Feast|stuffed peppers
Greyhollow|Eastholm|Lenne|Mount Durn|stone lamps|1090|the Lamp Lighting|lentil soup
Novareth|Saltcoast|Pearl Water|Shell Point|pearl buttons|1503|the Pearl Dive|clam rice
Underbridge|Midlands|Pearl Water|Arch Hill|bridge stones|1188|the Bridge Supper|walnut bread
Castelmir|Southvale|Vessa|Mount Rosal|red wine|1066|the Grape Crushing|olive pasta
Hollenbeck|Northmark|Vessa|Pine Spire|carved spoons|1290|the Wood Fair|cabbage rolls
Wrenfield|Westreach|Aldwater|Lark Down|straw hats|1431|the Hat Parade|cheese toast
Zanderby|Eastholm|Aldwater|Flint Cap|pocket clocks|1522|the Hour Festival|ginger cake
"""

_MAKERS = """
Orla Fenwick|1802|Velmora|invented the folding lantern|1831|glass blower
Tobias Renn|1765|Harrowick|built the first wool comb|1794|weaver
Marit Osk|1840|Tessaly|painted the Hall of Seasons|1872|painter
Casper Dole|1711|Brandeth|wrote the Book of Barrels|1743|cooper
Ines Quill|1888|Quillon|flew the first paper glider|1912|kite maker
Bram Sutter|1799|Oskaby|mapped the Salt Islands|1829|sailor
Hedda Vance|1851|Pellin|invented the whistling kettle|1880|coppersmith
Ludo Marsh|1820|Lunedale|cast the Great Bell|1858|bell founder
Sylvie Farrow|1901|Farrenport|crossed the Long Strait alone|1927|boat builder
Anselm Reed|1733|Mirefield|wrote the Marsh Songs|1766|poet
Petra Ashby|1868|Ashgrove|built the water organ|1899|flute maker
Gideon Clay|1780|Dunmarsh|invented the double kiln|1811|potter
Nerys Holt|1845|Kestrel Bay|designed the storm sail|1877|sail maker
Walter Thorn|1757|Thornbury Cross|forged the King's Gate|1788|smith
Freya Lund|1893|Ilverstone|climbed the White Giant first|1921|guide
Jonas Rook|1826|Rookhaven|printed the first newspaper|1850|printer
Alma Sallow|1874|Sallowford|invented the rocking bench|1903|carpenter
Edmund Grey|1790|Greyhollow|discovered the Blue Caves|1822|miner
Coral Nash|1910|Novareth|invented the diving bell lamp|1938|diver
Peter Arch|1745|Underbridge|built the Seven Bridges|1781|mason
Rosa Castell|1833|Castelmir|planted the Royal Vineyard|1861|gardener
Hans Beck|1812|Hollenbeck|carved the Talking Door|1842|wood carver
Wilma Lark|1885|Wrenfield|opened the first free school|1915|teacher
Zacharias Dial|1859|Zanderby|built the tower clock|1889|clock maker
"""

_ANIMALS = """
marsh fox|reed beds|frogs and berries|a silver tail|cub|skulk
stone owl|old quarries|mice|eyes like amber|owlet|parliament
river otter|quiet streams|fish|thick brown fur|pup|raft
snow hare|high meadows|grass and bark|white winter fur|leveret|drove
glass frog|wet forests|small flies|see-through skin|tadpole|chorus
lantern moth|birch woods|nectar|wings that glow|caterpillar|cloud
horned goat|steep cliffs|thistles|curved horns|kid|tribe
blue heron|shallow lakes|fish and eels|long thin legs|chick|siege
sand crab|warm beaches|seaweed|a sideways walk|larva|cast
grey wolf|pine forests|deer|a long howl|pup|pack
honey bear|mountain slopes|honey and roots|a yellow collar|cub|sleuth
red squirrel|oak woods|acorns|tufted ears|kit|scurry
barn swallow|farm roofs|insects|a forked tail|nestling|flight
mud turtle|slow rivers|snails and leaves|a flat shell|hatchling|bale
painted pony|open plains|grass|brown and white spots|foal|herd
salt gull|harbour walls|fish scraps|a loud cry|chick|colony
hill badger|sandy banks|worms and beetles|a striped face|cub|cete
silk spider|garden hedges|flies|golden thread|spiderling|cluster
pike eel|deep ponds|small fish|a pointed jaw|elver|swarm
king beetle|rotting logs|dead wood|a green shine|grub|column
wood mouse|leaf piles|seeds|big round ears|pup|nest
dune lizard|dry dunes|ants|a tail that breaks off|hatchling|lounge
ice seal|cold bays|herring|long whiskers|pup|pod
night bat|limestone caves|moths|leathery wings|pup|cauldron
"""

_DISHES = """
barley soup|barley, carrots, onions, butter|Chop the carrots and onions.;Fry them in butter.;Add the barley and water.;Simmer until soft.|50
lemon cake|flour, sugar, eggs, lemons|Beat the eggs with the sugar.;Fold in the flour.;Add the lemon juice.;Bake until golden.|45
plum dumplings|plums, potatoes, flour, sugar|Boil and mash the potatoes.;Knead them with the flour.;Wrap each plum in dough.;Boil for ten minutes.|60
mushroom pie|mushrooms, cream, pastry, thyme|Fry the mushrooms with thyme.;Stir in the cream.;Fill the pastry.;Bake until crisp.|55
herring salad|herring, apples, beets, cream|Dice the apples and beets.;Cut the herring into strips.;Mix everything with cream.;Chill before serving.|20
onion bread|onions, flour, yeast, salt|Fry the onions slowly.;Knead the flour with yeast and salt.;Work in the onions.;Bake in a hot oven.|90
honey biscuits|honey, flour, butter, ginger|Melt the honey with the butter.;Stir in flour and ginger.;Cut out small rounds.;Bake for twelve minutes.|35
crab stew|crab, tomatoes, garlic, rice|Fry the garlic in oil.;Add the tomatoes and the rice.;Put in the crab.;Cook until the rice is soft.|40
apple tart|apples, pastry, sugar, cinnamon|Roll out the pastry.;Slice the apples thinly.;Lay them on top with sugar and cinnamon.;Bake until brown.|50
bean stew|beans, bacon, onions, vinegar|Soak the beans overnight.;Fry the bacon and the onions.;Add the beans and water.;Finish with vinegar.|120
potato pancakes|potatoes, eggs, flour, salt|Grate the potatoes.;Mix in eggs, flour and salt.;Shape flat cakes.;Fry on both sides.|30
lentil soup|lentils, carrots, celery, stock|Chop the carrots and celery.;Add the lentils and the stock.;Simmer gently.;Season and serve.|40
clam rice|clams, rice, parsley, wine|Steam the clams in wine.;Cook the rice in the broth.;Put the clams back.;Sprinkle with parsley.|35
walnut bread|walnuts, rye flour, yeast, honey|Crack and toast the walnuts.;Knead flour, yeast and honey.;Fold in the walnuts.;Bake for an hour.|100
cabbage rolls|cabbage, rice, mushrooms, tomatoes|Blanch the cabbage leaves.;Fry rice with mushrooms.;Roll the filling in the leaves.;Stew in tomatoes.|75
cheese toast|bread, cheese, mustard, butter|Butter the bread.;Spread a little mustard.;Lay the cheese on top.;Grill until it bubbles.|10
ginger cake|ginger, treacle, flour, eggs|Warm the treacle.;Beat in the eggs.;Stir in flour and ginger.;Bake slowly.|65
olive pasta|pasta, olives, capers, garlic|Boil the pasta.;Fry garlic, olives and capers.;Toss them together.;Serve at once.|20
"""


def _rows(table: str) -> list[list[str]]:
    return [line.split("|") for line in table.strip().splitlines()]


TOWNS = tuple(Town(n, r, v, m, c, int(f), fe, d) for n, r, v, m, c, f, fe, d in _rows(_TOWNS))
MAKERS = tuple(Maker(n, int(b), t, d, int(y), tr) for n, b, t, d, y, tr in _rows(_MAKERS))
ANIMALS = tuple(Animal(*row) for row in _rows(_ANIMALS))
DISHES = tuple(Dish(n, tuple(i.split(", ")), tuple(s.split(";")), int(m)) for n, i, s, m in _rows(_DISHES))
