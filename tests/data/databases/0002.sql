BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(1,'first','2026-11-17 11:14:09',1,X'1D84ABE10F04C3E3FCB31D9B0DC55BFEA3E486A7C3329898F8BC92A91B2C17FED1A1E5129B7895E025664ECBE6AB3C6E',5446788);
INSERT INTO "_sqlx_migrations" VALUES(2,'changes','2026-11-17 11:14:09',1,X'832FE61AC2FF89D965A444C23FE806EEBED0CFC40375D141D9343377D08DF5902F26A1634703E7AF4EDD50204A7AF106',1876179);
CREATE TABLE change (
    id          TEXT    PRIMARY KEY,
    short       TEXT    NOT NULL,
    artefact    TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    moves       TEXT    NOT NULL,
    stage       TEXT    NOT NULL,
    active      BOOLEAN NOT NULL,
    -- Still looked at: active, or watched for a late proof.
    open        BOOLEAN NOT NULL,
    -- Grows with every claim; whoever writes with an older number has been overtaken.
    fence       BIGINT  NOT NULL DEFAULT 0,
    due_at      BIGINT,
    -- Who asked to cancel it; honoured at its next step.
    cancel_by   TEXT,
    body        TEXT    NOT NULL,
    asked_at    BIGINT  NOT NULL
);
INSERT INTO "change" VALUES('01a1e937-38af-7b85-8f35-9fdbabf1b978','abf1b978','checkout','qa','branch acme/checkout qa','deployed',0,0,7,NULL,NULL,'{"id":"01a1e937-38af-7b85-8f35-9fdbabf1b978","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:14:32.751280824Z","plan":{"artefact":"checkout","environment":"qa","below":"development","repository":"acme/checkout","branch":"qa","pinned":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","version":{"tag":"develop-5c4e072","digest":null,"commit":"5c4e0722984acfc15f0e8d4da8b706b2e818603c"},"from":{"tag":"qa-ad3bd64","digest":null,"commit":"ad3bd641c57f0fa922f377e5935eebaaad8d5975"},"commits":[{"sha":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","subject":"Count what is in the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/5c4e0722984acfc15f0e8d4da8b706b2e818603c"},{"sha":"563ba355c5f59ecf74bb398fb32f46b1225bc6b8","subject":"Retry the payment provider once","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/563ba355c5f59ecf74bb398fb32f46b1225bc6b8"}],"commits_in_all":2,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/ad3bd641c57f0fa922f377e5935eebaaad8d5975...5c4e0722984acfc15f0e8d4da8b706b2e818603c","head":"ad3bd641c57f0fa922f377e5935eebaaad8d5975","behind_by":4},"stage":{"name":"deployed","deploying":{"result":"407abf16475d9a273a8f8a64ebde54f1110dda0e","merged_at":"2026-11-17T11:14:32.762676077Z","deadline":"2026-11-17T11:16:02.762676077Z","tag":{"made":{"name":"qa/2026.11.17-1","at":"2026-11-17T11:14:32.770180335Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null},"at":"2026-11-17T11:14:37.977031527Z","ready":2,"proof":"tag"}}',1794914072751280);
INSERT INTO "change" VALUES('01a1e937-5ded-7308-9ff5-73892f5733c1','2f5733c1','checkout','staging','branch acme/checkout staging','deployed',0,0,6,NULL,NULL,'{"id":"01a1e937-5ded-7308-9ff5-73892f5733c1","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:14:42.285078845Z","plan":{"artefact":"checkout","environment":"staging","below":"qa","repository":"acme/checkout","branch":"staging","pinned":"407abf16475d9a273a8f8a64ebde54f1110dda0e","version":{"tag":"qa-407abf1","digest":null,"commit":"407abf16475d9a273a8f8a64ebde54f1110dda0e"},"from":{"tag":"staging-e63917c","digest":null,"commit":"e63917c3daf75e5f6728e46dace95c7171a49a54"},"commits":[{"sha":"407abf16475d9a273a8f8a64ebde54f1110dda0e","subject":"Promote checkout develop-5c4e072 to qa","author":"gantry[bot]","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/407abf16475d9a273a8f8a64ebde54f1110dda0e"},{"sha":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","subject":"Count what is in the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/5c4e0722984acfc15f0e8d4da8b706b2e818603c"},{"sha":"ad3bd641c57f0fa922f377e5935eebaaad8d5975","subject":"Merge f264292 into qa","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/ad3bd641c57f0fa922f377e5935eebaaad8d5975"},{"sha":"563ba355c5f59ecf74bb398fb32f46b1225bc6b8","subject":"Retry the payment provider once","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/563ba355c5f59ecf74bb398fb32f46b1225bc6b8"},{"sha":"f26429239faa8b91a1ca76e868214f85184bba31","subject":"Accept vouchers of partners","author":"Bob Brandt","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/f26429239faa8b91a1ca76e868214f85184bba31"}],"commits_in_all":5,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/e63917c3daf75e5f6728e46dace95c7171a49a54...407abf16475d9a273a8f8a64ebde54f1110dda0e","head":"e63917c3daf75e5f6728e46dace95c7171a49a54","behind_by":3},"stage":{"name":"deployed","deploying":{"result":"154572bab0aacb22cc809a75ce3525f432fb3d49","merged_at":"2026-11-17T11:14:42.300933399Z","deadline":"2026-11-17T11:16:12.300933399Z","tag":{"made":{"name":"staging/2026.11.17-1","at":"2026-11-17T11:14:42.353120443Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null},"at":"2026-11-17T11:14:47.390727395Z","ready":2,"proof":"tag"}}',1794914082285078);
INSERT INTO "change" VALUES('01a1e937-8914-7200-90b7-26dae4b735ec','e4b735ec','checkout','qa','branch acme/checkout qa','failed',0,1,8,NULL,NULL,'{"id":"01a1e937-8914-7200-90b7-26dae4b735ec","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:14:53.332841591Z","plan":{"artefact":"checkout","environment":"qa","below":"development","repository":"acme/checkout","branch":"qa","pinned":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","version":{"tag":"develop-2dc2a7b","digest":null,"commit":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70"},"from":{"tag":"qa-407abf1","digest":null,"commit":"407abf16475d9a273a8f8a64ebde54f1110dda0e"},"commits":[{"sha":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","subject":"Divide by the number of guests","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/checkout/commit/2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[],"url":"http://127.0.0.1:8484/sim/github/acme/checkout/compare/407abf16475d9a273a8f8a64ebde54f1110dda0e...2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","head":"407abf16475d9a273a8f8a64ebde54f1110dda0e","behind_by":5},"stage":{"name":"failed","deploying":{"result":"d977c49a8ee99084464022d7cc4d51cd4b5b45d7","merged_at":"2026-11-17T11:14:53.387293653Z","deadline":"2026-11-17T11:16:23.387293653Z","tag":{"made":{"name":"qa/2026.11.17-2","at":"2026-11-17T11:14:53.42679502Z"}},"nudge":null,"rollout":null,"others":[],"trouble":null},"at":"2026-11-17T11:15:02.977808929Z","reason":"CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts"}}',1794914093332841);
INSERT INTO "change" VALUES('01a1e939-0217-7202-b283-d8cd2287185b','2287185b','storefront','qa','branch acme/shop qa','deploying',1,1,7,1794914279854291,NULL,'{"id":"01a1e939-0217-7202-b283-d8cd2287185b","requester":"U0ALICE","asked_in":"C0DEPLOYS","asked_at":"2026-11-17T11:16:29.847276367Z","plan":{"artefact":"storefront","environment":"qa","below":"development","repository":"acme/shop","branch":"qa","pinned":"edff10113c4c78370564d2a354f9803faaf0c501","version":{"tag":"develop-edff101","digest":null,"commit":"edff10113c4c78370564d2a354f9803faaf0c501"},"from":{"tag":"qa-2332a7a","digest":null,"commit":"2332a7adbcb74cf86b95f16eb1acfe3999713d79"},"commits":[{"sha":"edff10113c4c78370564d2a354f9803faaf0c501","subject":"Show the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/shop/commit/edff10113c4c78370564d2a354f9803faaf0c501"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[{"artefact":"mailer","changes":false}],"url":"http://127.0.0.1:8484/sim/github/acme/shop/compare/2332a7adbcb74cf86b95f16eb1acfe3999713d79...edff10113c4c78370564d2a354f9803faaf0c501","head":"2332a7adbcb74cf86b95f16eb1acfe3999713d79","behind_by":1},"stage":{"name":"deploying","result":"1a7766a2e833c7486026ae498489081cf1d20cd3","merged_at":"2026-11-17T11:16:29.854290316Z","deadline":"2026-11-17T11:17:59.854290316Z","tag":{"made":{"name":"qa/2026.11.17-1","at":"2026-11-17T11:16:29.859661011Z"}},"nudge":null,"rollout":{"ready":0,"wanted":2},"others":[{"artefact":"mailer","version":"build-10","state":{"runs":{"ready":4}}}],"trouble":null}}',1794914189847276);
CREATE TABLE comparison (
    repository TEXT   NOT NULL,
    base       TEXT   NOT NULL,
    head       TEXT   NOT NULL,
    ahead_by   BIGINT NOT NULL,
    behind_by  BIGINT NOT NULL,
    PRIMARY KEY (repository, base, head)
);
INSERT INTO "comparison" VALUES('acme/checkout','ad3bd641c57f0fa922f377e5935eebaaad8d5975','563ba355c5f59ecf74bb398fb32f46b1225bc6b8',1,4);
INSERT INTO "comparison" VALUES('acme/checkout','e63917c3daf75e5f6728e46dace95c7171a49a54','ad3bd641c57f0fa922f377e5935eebaaad8d5975',2,3);
INSERT INTO "comparison" VALUES('acme/checkout','2fb365086a45a5829d7a082335516cdf28b6ba1a','e63917c3daf75e5f6728e46dace95c7171a49a54',3,2);
INSERT INTO "comparison" VALUES('acme/shop','2332a7adbcb74cf86b95f16eb1acfe3999713d79','432c30d0e18258cac8ef8fabb6b3298445be562e',0,1);
INSERT INTO "comparison" VALUES('acme/shop','6d5f607a5688793f2ad11ab3619bf57824bc59df','2332a7adbcb74cf86b95f16eb1acfe3999713d79',0,1);
INSERT INTO "comparison" VALUES('acme/shop','a58daab1b34b41f05c9acf19e2b1c4a5cca47ef7','6d5f607a5688793f2ad11ab3619bf57824bc59df',0,1);
INSERT INTO "comparison" VALUES('acme/checkout','ad3bd641c57f0fa922f377e5935eebaaad8d5975','5c4e0722984acfc15f0e8d4da8b706b2e818603c',2,4);
INSERT INTO "comparison" VALUES('acme/search','d9d183962b688c7bc3ba768be17459b5d6fa2e3d','7a209d9a6498f15e9440b6a9720c6cbb21ec1eb3',1,0);
INSERT INTO "comparison" VALUES('acme/checkout','407abf16475d9a273a8f8a64ebde54f1110dda0e','5c4e0722984acfc15f0e8d4da8b706b2e818603c',0,5);
INSERT INTO "comparison" VALUES('acme/checkout','e63917c3daf75e5f6728e46dace95c7171a49a54','407abf16475d9a273a8f8a64ebde54f1110dda0e',5,3);
INSERT INTO "comparison" VALUES('acme/checkout','154572bab0aacb22cc809a75ce3525f432fb3d49','407abf16475d9a273a8f8a64ebde54f1110dda0e',0,4);
INSERT INTO "comparison" VALUES('acme/checkout','2fb365086a45a5829d7a082335516cdf28b6ba1a','154572bab0aacb22cc809a75ce3525f432fb3d49',9,2);
INSERT INTO "comparison" VALUES('acme/checkout','407abf16475d9a273a8f8a64ebde54f1110dda0e','2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70',1,5);
INSERT INTO "comparison" VALUES('acme/checkout','d977c49a8ee99084464022d7cc4d51cd4b5b45d7','2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70',0,6);
INSERT INTO "comparison" VALUES('acme/checkout','154572bab0aacb22cc809a75ce3525f432fb3d49','d977c49a8ee99084464022d7cc4d51cd4b5b45d7',2,4);
INSERT INTO "comparison" VALUES('acme/shop','2332a7adbcb74cf86b95f16eb1acfe3999713d79','edff10113c4c78370564d2a354f9803faaf0c501',1,1);
INSERT INTO "comparison" VALUES('acme/shop','1a7766a2e833c7486026ae498489081cf1d20cd3','edff10113c4c78370564d2a354f9803faaf0c501',0,2);
INSERT INTO "comparison" VALUES('acme/shop','6d5f607a5688793f2ad11ab3619bf57824bc59df','1a7766a2e833c7486026ae498489081cf1d20cd3',2,1);
INSERT INTO "comparison" VALUES('acme/search','d9d183962b688c7bc3ba768be17459b5d6fa2e3d','31f8f6c9e3d8499982495d4c07ec26f343858950',2,0);
CREATE TABLE image_commit (
    image      TEXT   NOT NULL,
    reference  TEXT   NOT NULL,
    commit_sha TEXT,
    proof      TEXT   NOT NULL,
    learned_at BIGINT NOT NULL,
    PRIMARY KEY (image, reference)
);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-5c4e072','5c4e0722984acfc15f0e8d4da8b706b2e818603c','tag',1794914066376089);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.3','7a209d9a6498f15e9440b6a9720c6cbb21ec1eb3','label',1794914066484144);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','qa-407abf1','407abf16475d9a273a8f8a64ebde54f1110dda0e','tag',1794914074895719);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','staging-154572b','154572bab0aacb22cc809a75ce3525f432fb3d49','tag',1794914084358528);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','develop-2dc2a7b','2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70','tag',1794914089836949);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/checkout','qa-d977c49','d977c49a8ee99084464022d7cc4d51cd4b5b45d7','tag',1794914095944559);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/storefront','develop-edff101','edff10113c4c78370564d2a354f9803faaf0c501','tag',1794914185775843);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/mailer','build-9','edff10113c4c78370564d2a354f9803faaf0c501','report',1794914188895322);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/storefront','qa-1a7766a','1a7766a2e833c7486026ae498489081cf1d20cd3','tag',1794914192066090);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/mailer','build-10','1a7766a2e833c7486026ae498489081cf1d20cd3','report',1794914195156831);
INSERT INTO "image_commit" VALUES('ghcr.io/acme/search','1.0.4','31f8f6c9e3d8499982495d4c07ec26f343858950','label',1794914196204564);
CREATE TABLE inbox (
    id          INTEGER PRIMARY KEY,
    source      TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    body        TEXT,
    received_at BIGINT  NOT NULL,
    due_at      BIGINT  NOT NULL,
    attempts    BIGINT  NOT NULL DEFAULT 0,
    error       TEXT,
    done_at     BIGINT,
    UNIQUE (source, key)
);
INSERT INTO "inbox" VALUES(1,'slack_command','1.1794914052133.00000000000000000000000100000000',NULL,1794914052145148,1794914052145148,0,NULL,1794914052173935);
INSERT INTO "inbox" VALUES(2,'flux','85598f7ccc6f2f76ab22b954afbde136',NULL,1794914066356988,1794914066356988,0,NULL,1794914066384592);
INSERT INTO "inbox" VALUES(3,'flux','865fa02829b96a974d28c3567142c0db',NULL,1794914066376089,1794914066376089,0,NULL,1794914066473376);
INSERT INTO "inbox" VALUES(4,'flux','1ace5e72570da1b59e4b110fc8b443ac',NULL,1794914069363123,1794914069363123,0,NULL,1794914069387591);
INSERT INTO "inbox" VALUES(5,'flux','0ec840c6853c71362b7ba6a170d245ef',NULL,1794914069387591,1794914069387591,0,NULL,1794914069401633);
INSERT INTO "inbox" VALUES(6,'slack_command','12.1794914072655.00000000000000000000000c00000000',NULL,1794914072659605,1794914072659605,0,NULL,1794914072751495);
INSERT INTO "inbox" VALUES(7,'slack_command','15.1794914072728.00000000000000000000000f00000000',NULL,1794914072729121,1794914072729121,0,NULL,1794914072743417);
INSERT INTO "inbox" VALUES(8,'flux','f842d3a4e69cc4d8c5d47cf449dcb66c',NULL,1794914074861967,1794914074861967,0,NULL,1794914074908414);
INSERT INTO "inbox" VALUES(9,'flux','be561c181dabb70567dd09668862435b',NULL,1794914077870263,1794914077870263,0,NULL,1794914077900196);
INSERT INTO "inbox" VALUES(10,'slack_command','49.1794914082237.00000000000000000000003100000000',NULL,1794914082238156,1794914082238156,0,NULL,1794914082287633);
INSERT INTO "inbox" VALUES(11,'flux','fd3ad3e3a43bbfde488ead43473ebb4e',NULL,1794914084343146,1794914084343146,0,NULL,1794914084364358);
INSERT INTO "inbox" VALUES(12,'flux','6276e45b1007b8881456bafa20676a45',NULL,1794914087390513,1794914087390513,0,NULL,1794914087409300);
INSERT INTO "inbox" VALUES(13,'flux','ab77924193b71be39f4831f026062086',NULL,1794914089705126,1794914089705126,0,NULL,1794914089803928);
INSERT INTO "inbox" VALUES(14,'flux','cae10983f5d3da8d8e35d6925849a37d',NULL,1794914092765105,1794914092765105,0,NULL,1794914092771452);
INSERT INTO "inbox" VALUES(15,'slack_command','80.1794914093219.00000000000000000000005000000000',NULL,1794914093243261,1794914093243261,0,NULL,1794914093336358);
INSERT INTO "inbox" VALUES(16,'flux','bddc1e5484cccf0b5aaf2d2367037366',NULL,1794914095508858,1794914095508858,0,NULL,1794914095992597);
INSERT INTO "inbox" VALUES(17,'flux','b38f1c618b40dcf20d10899418eeca7b',NULL,1794914102972666,1794914102972666,0,NULL,1794914102997328);
INSERT INTO "inbox" VALUES(18,'slack_command','105.1794914103175.00000000000000000000006900000000',NULL,1794914103180735,1794914103180735,0,NULL,1794914103183895);
INSERT INTO "inbox" VALUES(19,'slack_command','109.1794914166457.00000000000000000000006d00000000',NULL,1794914166460889,1794914166460889,0,NULL,1794914166524248);
INSERT INTO "inbox" VALUES(20,'slack_command','129.1794914166550.00000000000000000000008100000000',NULL,1794914166551375,1794914166551375,0,NULL,1794914166562107);
INSERT INTO "inbox" VALUES(21,'slack_command','133.1794914170721.00000000000000000000008500000000',NULL,1794914170722422,1794914170722422,0,NULL,1794914170844779);
INSERT INTO "inbox" VALUES(22,'slack_command','136.1794914170844.00000000000000000000008800000000',NULL,1794914171158918,1794914171158918,0,NULL,1794914171334896);
INSERT INTO "inbox" VALUES(23,'slack_command','140.1794914171278.00000000000000000000008c00000000',NULL,1794914171279630,1794914171279630,0,NULL,1794914171343337);
INSERT INTO "inbox" VALUES(24,'flux','6aff209ff67f6d610e376d7e17bdec4a',NULL,1794914185684904,1794914185684904,0,NULL,1794914185730273);
INSERT INTO "inbox" VALUES(25,'flux','2971c49478921cc3aafffe34a70cc9ae',NULL,1794914185730273,1794914185730273,0,NULL,1794914185745948);
INSERT INTO "inbox" VALUES(26,'flux','6ea875dc5a23bf7ff318efbec79c1b2c',NULL,1794914188741353,1794914188741353,0,NULL,1794914188862026);
INSERT INTO "inbox" VALUES(27,'flux','657361b8d62cd8d1e0d40e6875e6374f',NULL,1794914188862026,1794914188862026,0,NULL,1794914188920399);
INSERT INTO "inbox" VALUES(28,'slack_command','155.1794914189134.00000000000000000000009b00000000',NULL,1794914189159485,1794914189159485,0,NULL,1794914189392752);
INSERT INTO "inbox" VALUES(29,'slack_command','158.1794914189268.00000000000000000000009e00000000',NULL,1794914189272751,1794914189272751,0,NULL,1794914189430588);
INSERT INTO "inbox" VALUES(30,'slack_interaction','171.1794914189653.0000000000000000000000ab00000000',NULL,1794914189656137,1794914189656137,0,NULL,1794914189847497);
INSERT INTO "inbox" VALUES(31,'flux','c39a57b6a235be1ea5093acc2158cecc',NULL,1794914191892921,1794914191892921,0,NULL,1794914192024484);
INSERT INTO "inbox" VALUES(32,'flux','53f38eb245c509f378bbbe90becd3972',NULL,1794914192024484,1794914192024484,0,NULL,1794914192045249);
INSERT INTO "inbox" VALUES(33,'slack_command','200.1794914194193.0000000000000000000000c800000000',NULL,1794914194193930,1794914194193930,0,NULL,1794914194218885);
INSERT INTO "inbox" VALUES(34,'flux','82ef0bbb5724c329667fca214e4e3978',NULL,1794914194903137,1794914194903137,0,NULL,1794914194948592);
INSERT INTO "inbox" VALUES(35,'flux','0faf6d577ca7434abe1e3a16b3e5a1b1',NULL,1794914196184577,1794914196184577,0,NULL,1794914196468567);
INSERT INTO "inbox" VALUES(36,'flux','762aef5ae095219e26421b6d2af9ea10',NULL,1794914199229162,1794914199229162,0,NULL,1794914199255608);
INSERT INTO "inbox" VALUES(37,'slack_command','203.1794914200269.0000000000000000000000cb00000000',NULL,1794914200277028,1794914200277028,0,NULL,1794914200383493);
CREATE TABLE ledger (
    id          INTEGER PRIMARY KEY,
    at          BIGINT  NOT NULL,
    change_id   TEXT,
    kind        TEXT    NOT NULL,
    artefact    TEXT,
    environment TEXT,
    actor       TEXT,
    body        TEXT    NOT NULL
);
INSERT INTO "ledger" VALUES(1,1794914066377852,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:14:26.348087787Z","commit":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","environment":"development","key":"85598f7ccc6f2f76ab22b954afbde136","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:5c4e0722984acfc15f0e8d4da8b706b2e818603c"}');
INSERT INTO "ledger" VALUES(2,1794914066385952,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:14:26.34913929Z","commit":"a7ab2471023ff57d4a5909ba3ec0515f4f10e0b4","environment":"development","key":"865fa02829b96a974d28c3567142c0db","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:a7ab2471023ff57d4a5909ba3ec0515f4f10e0b4"}');
INSERT INTO "ledger" VALUES(3,1794914069365632,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","digest":null,"tag":"develop-5c4e072"}}');
INSERT INTO "ledger" VALUES(4,1794914069377228,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:14:29.361277692Z","commit":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","environment":"development","key":"1ace5e72570da1b59e4b110fc8b443ac","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:5c4e0722984acfc15f0e8d4da8b706b2e818603c"}');
INSERT INTO "ledger" VALUES(5,1794914069397494,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"7a209d9a6498f15e9440b6a9720c6cbb21ec1eb3","digest":null,"tag":"1.0.3"}}');
INSERT INTO "ledger" VALUES(6,1794914069398112,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:14:29.374472711Z","commit":"a7ab2471023ff57d4a5909ba3ec0515f4f10e0b4","environment":"development","key":"0ec840c6853c71362b7ba6a170d245ef","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:a7ab2471023ff57d4a5909ba3ec0515f4f10e0b4"}');
INSERT INTO "ledger" VALUES(7,1794914072751304,'01a1e937-38af-7b85-8f35-9fdbabf1b978','begun','checkout','qa','{"person":"U0ALICE"}','{"pinned":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","digest":null,"tag":"develop-5c4e072"}}');
INSERT INTO "ledger" VALUES(8,1794914072762854,'01a1e937-38af-7b85-8f35-9fdbabf1b978','deploying','checkout','qa','"controller"','{"pinned":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","stage":{"deadline":"2026-11-17T11:16:02.762676077Z","merged_at":"2026-11-17T11:14:32.762676077Z","name":"deploying","nudge":null,"others":[],"result":"407abf16475d9a273a8f8a64ebde54f1110dda0e","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","digest":null,"tag":"develop-5c4e072"}}');
INSERT INTO "ledger" VALUES(9,1794914074896747,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:14:34.85162356Z","commit":"407abf16475d9a273a8f8a64ebde54f1110dda0e","environment":"qa","key":"f842d3a4e69cc4d8c5d47cf449dcb66c","message":"Deployment/qa/checkout configured","outcome":"progressing","revision":"qa@sha1:407abf16475d9a273a8f8a64ebde54f1110dda0e"}');
INSERT INTO "ledger" VALUES(10,1794914077892695,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:14:37.869196913Z","commit":"407abf16475d9a273a8f8a64ebde54f1110dda0e","environment":"qa","key":"be561c181dabb70567dd09668862435b","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"qa@sha1:407abf16475d9a273a8f8a64ebde54f1110dda0e"}');
INSERT INTO "ledger" VALUES(11,1794914077977340,'01a1e937-38af-7b85-8f35-9fdbabf1b978','deployed','checkout','qa','"controller"','{"pinned":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","stage":{"at":"2026-11-17T11:14:37.977031527Z","deploying":{"deadline":"2026-11-17T11:16:02.762676077Z","merged_at":"2026-11-17T11:14:32.762676077Z","nudge":null,"others":[],"result":"407abf16475d9a273a8f8a64ebde54f1110dda0e","rollout":null,"tag":{"made":{"at":"2026-11-17T11:14:32.770180335Z","name":"qa/2026.11.17-1"}},"trouble":null},"name":"deployed","proof":"tag","ready":2},"version":{"commit":"5c4e0722984acfc15f0e8d4da8b706b2e818603c","digest":null,"tag":"develop-5c4e072"}}');
INSERT INTO "ledger" VALUES(12,1794914082285101,'01a1e937-5ded-7308-9ff5-73892f5733c1','begun','checkout','staging','{"person":"U0ALICE"}','{"pinned":"407abf16475d9a273a8f8a64ebde54f1110dda0e","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"407abf16475d9a273a8f8a64ebde54f1110dda0e","digest":null,"tag":"qa-407abf1"}}');
INSERT INTO "ledger" VALUES(13,1794914082301182,'01a1e937-5ded-7308-9ff5-73892f5733c1','deploying','checkout','staging','"controller"','{"pinned":"407abf16475d9a273a8f8a64ebde54f1110dda0e","stage":{"deadline":"2026-11-17T11:16:12.300933399Z","merged_at":"2026-11-17T11:14:42.300933399Z","name":"deploying","nudge":null,"others":[],"result":"154572bab0aacb22cc809a75ce3525f432fb3d49","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"407abf16475d9a273a8f8a64ebde54f1110dda0e","digest":null,"tag":"qa-407abf1"}}');
INSERT INTO "ledger" VALUES(14,1794914084359963,NULL,'report',NULL,'staging','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"staging"},"at":"2026-11-17T11:14:44.313685696Z","commit":"154572bab0aacb22cc809a75ce3525f432fb3d49","environment":"staging","key":"fd3ad3e3a43bbfde488ead43473ebb4e","message":"Deployment/staging/checkout configured","outcome":"progressing","revision":"staging@sha1:154572bab0aacb22cc809a75ce3525f432fb3d49"}');
INSERT INTO "ledger" VALUES(15,1794914087391003,'01a1e937-5ded-7308-9ff5-73892f5733c1','deployed','checkout','staging','"controller"','{"pinned":"407abf16475d9a273a8f8a64ebde54f1110dda0e","stage":{"at":"2026-11-17T11:14:47.390727395Z","deploying":{"deadline":"2026-11-17T11:16:12.300933399Z","merged_at":"2026-11-17T11:14:42.300933399Z","nudge":null,"others":[],"result":"154572bab0aacb22cc809a75ce3525f432fb3d49","rollout":null,"tag":{"made":{"at":"2026-11-17T11:14:42.353120443Z","name":"staging/2026.11.17-1"}},"trouble":null},"name":"deployed","proof":"tag","ready":2},"version":{"commit":"407abf16475d9a273a8f8a64ebde54f1110dda0e","digest":null,"tag":"qa-407abf1"}}');
INSERT INTO "ledger" VALUES(16,1794914087404816,NULL,'report',NULL,'staging','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"staging"},"at":"2026-11-17T11:14:47.388233757Z","commit":"154572bab0aacb22cc809a75ce3525f432fb3d49","environment":"staging","key":"6276e45b1007b8881456bafa20676a45","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"staging@sha1:154572bab0aacb22cc809a75ce3525f432fb3d49"}');
INSERT INTO "ledger" VALUES(17,1794914089781189,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:14:49.676457144Z","commit":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","environment":"development","key":"ab77924193b71be39f4831f026062086","message":"Deployment/development/checkout configured","outcome":"progressing","revision":"develop@sha1:2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70"}');
INSERT INTO "ledger" VALUES(18,1794914092771093,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"development"},"at":"2026-11-17T11:14:52.76263702Z","commit":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","environment":"development","key":"cae10983f5d3da8d8e35d6925849a37d","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70"}');
INSERT INTO "ledger" VALUES(19,1794914092861951,NULL,'arrived','checkout','development','"controller"','{"failed":null,"version":{"commit":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","digest":null,"tag":"develop-2dc2a7b"}}');
INSERT INTO "ledger" VALUES(20,1794914093332858,'01a1e937-8914-7200-90b7-26dae4b735ec','begun','checkout','qa','{"person":"U0ALICE"}','{"pinned":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","digest":null,"tag":"develop-2dc2a7b"}}');
INSERT INTO "ledger" VALUES(21,1794914093387545,'01a1e937-8914-7200-90b7-26dae4b735ec','deploying','checkout','qa','"controller"','{"pinned":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","stage":{"deadline":"2026-11-17T11:16:23.387293653Z","merged_at":"2026-11-17T11:14:53.387293653Z","name":"deploying","nudge":null,"others":[],"result":"d977c49a8ee99084464022d7cc4d51cd4b5b45d7","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","digest":null,"tag":"develop-2dc2a7b"}}');
INSERT INTO "ledger" VALUES(22,1794914095952977,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:14:55.424521596Z","commit":"d977c49a8ee99084464022d7cc4d51cd4b5b45d7","environment":"qa","key":"bddc1e5484cccf0b5aaf2d2367037366","message":"Deployment/qa/checkout configured","outcome":"progressing","revision":"qa@sha1:d977c49a8ee99084464022d7cc4d51cd4b5b45d7"}');
INSERT INTO "ledger" VALUES(23,1794914102978025,'01a1e937-8914-7200-90b7-26dae4b735ec','failed','checkout','qa','"controller"','{"pinned":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","stage":{"at":"2026-11-17T11:15:02.977808929Z","deploying":{"deadline":"2026-11-17T11:16:23.387293653Z","merged_at":"2026-11-17T11:14:53.387293653Z","nudge":null,"others":[],"result":"d977c49a8ee99084464022d7cc4d51cd4b5b45d7","rollout":null,"tag":{"made":{"at":"2026-11-17T11:14:53.42679502Z","name":"qa/2026.11.17-2"}},"trouble":null},"name":"failed","reason":"CrashLoopBackOff: container checkout keeps ending, exit code 1, 3 restarts"},"version":{"commit":"2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70","digest":null,"tag":"develop-2dc2a7b"}}');
INSERT INTO "ledger" VALUES(24,1794914102997259,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"checkout","namespace":"qa"},"at":"2026-11-17T11:15:02.964842801Z","commit":"d977c49a8ee99084464022d7cc4d51cd4b5b45d7","environment":"qa","key":"b38f1c618b40dcf20d10899418eeca7b","message":"health check failed after 7.5s: failed resources: [Deployment/qa/checkout status: ''Failed'']","outcome":{"failed":{"message":"health check failed after 7.5s: failed resources: [Deployment/qa/checkout status: ''Failed'']"}},"revision":"qa@sha1:d977c49a8ee99084464022d7cc4d51cd4b5b45d7"}');
INSERT INTO "ledger" VALUES(25,1794914185716925,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:16:25.679067343Z","commit":"edff10113c4c78370564d2a354f9803faaf0c501","environment":"development","key":"6aff209ff67f6d610e376d7e17bdec4a","message":"StatefulSet/development/mailer configured\nDeployment/development/mailer-web configured","outcome":"progressing","revision":"develop@sha1:edff10113c4c78370564d2a354f9803faaf0c501"}');
INSERT INTO "ledger" VALUES(26,1794914185745054,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:16:25.679707274Z","commit":"edff10113c4c78370564d2a354f9803faaf0c501","environment":"development","key":"2971c49478921cc3aafffe34a70cc9ae","message":"Deployment/development/storefront configured","outcome":"progressing","revision":"develop@sha1:edff10113c4c78370564d2a354f9803faaf0c501"}');
INSERT INTO "ledger" VALUES(27,1794914188741599,NULL,'arrived','mailer','development','"controller"','{"failed":null,"version":{"commit":null,"digest":null,"tag":"build-9"}}');
INSERT INTO "ledger" VALUES(28,1794914188833432,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"development"},"at":"2026-11-17T11:16:28.726030905Z","commit":"edff10113c4c78370564d2a354f9803faaf0c501","environment":"development","key":"6ea875dc5a23bf7ff318efbec79c1b2c","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:edff10113c4c78370564d2a354f9803faaf0c501"}');
INSERT INTO "ledger" VALUES(29,1794914188749396,NULL,'arrived','storefront','development','"controller"','{"failed":null,"version":{"commit":"edff10113c4c78370564d2a354f9803faaf0c501","digest":null,"tag":"develop-edff101"}}');
INSERT INTO "ledger" VALUES(30,1794914188916810,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"development"},"at":"2026-11-17T11:16:28.726790014Z","commit":"edff10113c4c78370564d2a354f9803faaf0c501","environment":"development","key":"657361b8d62cd8d1e0d40e6875e6374f","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"develop@sha1:edff10113c4c78370564d2a354f9803faaf0c501"}');
INSERT INTO "ledger" VALUES(31,1794914189847295,'01a1e939-0217-7202-b283-d8cd2287185b','begun','storefront','qa','{"person":"U0ALICE"}','{"pinned":"edff10113c4c78370564d2a354f9803faaf0c501","stage":{"begun":false,"name":"merging","trouble":null},"version":{"commit":"edff10113c4c78370564d2a354f9803faaf0c501","digest":null,"tag":"develop-edff101"}}');
INSERT INTO "ledger" VALUES(32,1794914189854458,'01a1e939-0217-7202-b283-d8cd2287185b','deploying','storefront','qa','"controller"','{"pinned":"edff10113c4c78370564d2a354f9803faaf0c501","stage":{"deadline":"2026-11-17T11:17:59.854290316Z","merged_at":"2026-11-17T11:16:29.854290316Z","name":"deploying","nudge":null,"others":[],"result":"1a7766a2e833c7486026ae498489081cf1d20cd3","rollout":null,"tag":"not_yet","trouble":null},"version":{"commit":"edff10113c4c78370564d2a354f9803faaf0c501","digest":null,"tag":"develop-edff101"}}');
INSERT INTO "ledger" VALUES(33,1794914192013078,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"qa"},"at":"2026-11-17T11:16:31.877820263Z","commit":"1a7766a2e833c7486026ae498489081cf1d20cd3","environment":"qa","key":"c39a57b6a235be1ea5093acc2158cecc","message":"StatefulSet/qa/mailer configured\nDeployment/qa/mailer-web configured","outcome":"progressing","revision":"qa@sha1:1a7766a2e833c7486026ae498489081cf1d20cd3"}');
INSERT INTO "ledger" VALUES(34,1794914192045182,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"storefront","namespace":"qa"},"at":"2026-11-17T11:16:31.878453564Z","commit":"1a7766a2e833c7486026ae498489081cf1d20cd3","environment":"qa","key":"53f38eb245c509f378bbbe90becd3972","message":"Deployment/qa/storefront configured","outcome":"progressing","revision":"qa@sha1:1a7766a2e833c7486026ae498489081cf1d20cd3"}');
INSERT INTO "ledger" VALUES(35,1794914194917652,NULL,'report',NULL,'qa','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"mailer","namespace":"qa"},"at":"2026-11-17T11:16:34.902049327Z","commit":"1a7766a2e833c7486026ae498489081cf1d20cd3","environment":"qa","key":"82ef0bbb5724c329667fca214e4e3978","message":"Reconciliation finished in 3.0s, next run in 10m0s","outcome":"succeeded","revision":"qa@sha1:1a7766a2e833c7486026ae498489081cf1d20cd3"}');
INSERT INTO "ledger" VALUES(36,1794914196219869,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:16:36.111345899Z","commit":"60c0b99767637c2c8666b35a31034630a429f770","environment":"development","key":"0faf6d577ca7434abe1e3a16b3e5a1b1","message":"Deployment/development/search configured","outcome":"progressing","revision":"main@sha1:60c0b99767637c2c8666b35a31034630a429f770"}');
INSERT INTO "ledger" VALUES(37,1794914199253209,NULL,'arrived','search','development','"controller"','{"failed":null,"version":{"commit":"31f8f6c9e3d8499982495d4c07ec26f343858950","digest":null,"tag":"1.0.4"}}');
INSERT INTO "ledger" VALUES(38,1794914199255155,NULL,'report',NULL,'development','"controller"','{"about":{"artefact":null,"image":null,"kind":"Kustomization","name":"search","namespace":"development"},"at":"2026-11-17T11:16:39.170817203Z","commit":"60c0b99767637c2c8666b35a31034630a429f770","environment":"development","key":"762aef5ae095219e26421b6d2af9ea10","message":"Reconciliation finished in 3.1s, next run in 10m0s","outcome":"succeeded","revision":"main@sha1:60c0b99767637c2c8666b35a31034630a429f770"}');
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY,
    queue      TEXT    NOT NULL,
    key        TEXT    UNIQUE,
    body       TEXT    NOT NULL,
    revision   BIGINT  NOT NULL DEFAULT 0,
    created_at BIGINT  NOT NULL,
    due_at     BIGINT  NOT NULL,
    attempts   BIGINT  NOT NULL DEFAULT 0,
    error      TEXT
);
INSERT INTO "outbox" VALUES(1,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000005L","until":"2026-11-17T11:46:34.19393Z"},"replace":false}},"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","blocks":[{"text":{"text":"I understand `diff &lt;source&gt; &lt;target&gt; [artefact]`, but this version of me cannot do it yet. `/list` shows what runs where.","type":"mrkdwn"},"type":"section"}],"plain":null}',0,1794914194218885,1794914210762566,4,'the response URL was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(2,'#deploys','card:01a1e939-0217-7202-b283-d8cd2287185b','{"to":{"post":{"channel":"#deploys","key":"card:01a1e939-0217-7202-b283-d8cd2287185b","thread":null,"asked":{"person":"U0ALICE","channel":"C0DEPLOYS"}}},"text":"*storefront* `develop-edff101`: deploying to *qa*, 0 of 2 ready","blocks":[{"text":{"text":":hourglass_flowing_sand: *storefront* `develop-edff101`: deploying to *qa*, 0 of 2 ready","type":"mrkdwn"},"type":"section"},{"text":{"text":":white_check_mark: merged into `qa` as <http://127.0.0.1:8484/sim/github/acme/shop/commit/1a7766a2e833c7486026ae498489081cf1d20cd3|1a7766a> · 0 s\n:white_check_mark: tagged `qa/2026.11.17-1` · 0 s\n:hourglass_flowing_sand: the cluster rolls it out\n:small_blue_diamond: *mailer* `build-10` runs, 4 of 4 ready","type":"mrkdwn"},"type":"section"},{"text":{"text":"`qa-2332a7a` → `develop-edff101`, commit `edff101` as it runs in development · <http://127.0.0.1:8484/sim/github/acme/shop/compare/2332a7adbcb74cf86b95f16eb1acfe3999713d79...edff10113c4c78370564d2a354f9803faaf0c501|compare>\n1 commit:\n• <http://127.0.0.1:8484/sim/github/acme/shop/commit/edff10113c4c78370564d2a354f9803faaf0c501|edff101> Show the basket · Alice Adler","type":"mrkdwn"},"type":"section"},{"text":{"text":":twisted_rightwards_arrows: Moves as well, as it is in the same repository: *mailer* (only built anew)","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"asked by <@U0ALICE> · <!date^1794914189^{date_short_pretty} {time}|2026-11-17 11:16 UTC> · change `2287185b`","type":"mrkdwn"}],"type":"context"}],"plain":null}',0,1794914195262114,1794914202983685,3,'chat.update was answered with HTTP status 503');
INSERT INTO "outbox" VALUES(3,'#deploys','arrival:development:search:1794914196119596','{"to":{"post":{"channel":"#deploys","key":"arrival:development:search:1794914196119596","thread":null,"asked":null}},"text":"search 1.0.4 runs in development","blocks":[{"text":{"text":":large_green_circle: *search* `1.0.4` runs in *development*\n<http://127.0.0.1:8484/sim/github/acme/search/commit/31f8f6c9e3d8499982495d4c07ec26f343858950|31f8f6c> Sort by price · Alice Adler · rolled out in 3 s","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"Next: `/promote search qa`","type":"mrkdwn"}],"type":"context"},{"elements":[{"action_id":"arrival_promote","text":{"text":"Promote","type":"plain_text"},"type":"button","value":"arrival:development:search:1794914196119596"}],"type":"actions"}],"plain":null}',0,1794914199253420,1794914199253420,0,NULL);
INSERT INTO "outbox" VALUES(4,'U0ALICE',NULL,'{"to":{"person":{"person":"U0ALICE","channel":"C0DEPLOYS","thread":null,"response_url":{"url":"http://127.0.0.1:8484/sim/slack/hooks/H0000005O","until":"2026-11-17T11:46:40.277028Z"},"replace":false}},"text":"*checkout* `qa-d977c49` does not run well in *qa*: ReplicaSet \"checkout-6b00019b\" has timed out progressing.","blocks":[{"text":{"text":"*checkout* `qa-d977c49` does not run well in *qa*: ReplicaSet \"checkout-6b00019b\" has timed out progressing.","type":"mrkdwn"},"type":"section"},{"elements":[{"text":"Next: repair it there, or name a version that ran well there before: `/promote checkout @version`.","type":"mrkdwn"}],"type":"context"}],"plain":null}',0,1794914200383493,1794914200383493,0,NULL);
CREATE TABLE plan (
    id      TEXT   PRIMARY KEY,
    person  TEXT   NOT NULL,
    body    TEXT   NOT NULL,
    made_at BIGINT NOT NULL
);
INSERT INTO "plan" VALUES('01a1e939-0050-7530-8c5a-d69ebfa017e3','U0CAROL','{"artefact":"storefront","environment":"qa","below":"development","repository":"acme/shop","branch":"qa","pinned":"edff10113c4c78370564d2a354f9803faaf0c501","version":{"tag":"develop-edff101","digest":null,"commit":"edff10113c4c78370564d2a354f9803faaf0c501"},"from":{"tag":"qa-2332a7a","digest":null,"commit":"2332a7adbcb74cf86b95f16eb1acfe3999713d79"},"commits":[{"sha":"edff10113c4c78370564d2a354f9803faaf0c501","subject":"Show the basket","author":"Alice Adler","url":"http://127.0.0.1:8484/sim/github/acme/shop/commit/edff10113c4c78370564d2a354f9803faaf0c501"}],"commits_in_all":1,"hotfixes":[],"hotfixes_in_all":0,"also":[{"artefact":"mailer","changes":false}],"url":"http://127.0.0.1:8484/sim/github/acme/shop/compare/2332a7adbcb74cf86b95f16eb1acfe3999713d79...edff10113c4c78370564d2a354f9803faaf0c501","head":"2332a7adbcb74cf86b95f16eb1acfe3999713d79","behind_by":1}',1794914189392525);
CREATE TABLE said (
    key     TEXT   PRIMARY KEY,
    queue   TEXT   NOT NULL,
    channel TEXT   NOT NULL,
    ts      TEXT   NOT NULL,
    note    TEXT,
    said_at BIGINT NOT NULL
);
INSERT INTO "said" VALUES('arrival:development:checkout:1794914066347355','#deploys','C0DEPLOYS','1794914069.395600',NULL,1794914069401633);
INSERT INTO "said" VALUES('arrival:development:search:1794914066357149','#deploys','C0DEPLOYS','1794914069.408600',NULL,1794914069409133);
INSERT INTO "said" VALUES('card:01a1e937-38af-7b85-8f35-9fdbabf1b978','#deploys','C0DEPLOYS','1794914072.755500',NULL,1794914077987543);
INSERT INTO "said" VALUES('deployed:1794914077977426:01a1e937-38af-7b85-8f35-9fdbabf1b978','#deploys','C0DEPLOYS','1794914077.989300',NULL,1794914077989732);
INSERT INTO "said" VALUES('card:01a1e937-5ded-7308-9ff5-73892f5733c1','#deploys','C0DEPLOYS','1794914082.294600',NULL,1794914087461096);
INSERT INTO "said" VALUES('deployed:1794914087391043:01a1e937-5ded-7308-9ff5-73892f5733c1','#deploys','C0DEPLOYS','1794914087.486300',NULL,1794914087486728);
INSERT INTO "said" VALUES('arrival:development:checkout:1794914089713776','#deploys','C0DEPLOYS','1794914092.930800',NULL,1794914092931270);
INSERT INTO "said" VALUES('card:01a1e937-8914-7200-90b7-26dae4b735ec','#deploys','C0DEPLOYS','1794914093.348000',NULL,1794914102982782);
INSERT INTO "said" VALUES('failed:1794914102978065:01a1e937-8914-7200-90b7-26dae4b735ec','#deploys','C0DEPLOYS','1794914102.986900',NULL,1794914102987288);
INSERT INTO "said" VALUES('arrival:development:mailer:1794914185735958','#deploys','C0DEPLOYS','1794914188.896000',NULL,1794914189066121);
INSERT INTO "said" VALUES('arrival:development:storefront:1794914185687697','#deploys','C0DEPLOYS','1794914189.023000',NULL,1794914189023729);
INSERT INTO "said" VALUES('card:01a1e939-0217-7202-b283-d8cd2287185b','#deploys','C0DEPLOYS','1794914189.866500',NULL,1794914192073282);
CREATE TABLE setting (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE sighting (
    id          INTEGER PRIMARY KEY,
    artefact    TEXT    NOT NULL,
    environment TEXT    NOT NULL,
    tag         TEXT,
    digest      TEXT,
    commit_sha  TEXT,
    seen_at     BIGINT  NOT NULL,
    running_at  BIGINT,
    failed      TEXT,
    ended_at    BIGINT,
    announced   BOOLEAN NOT NULL
);
INSERT INTO "sighting" VALUES(1,'checkout','development','develop-ae59779',NULL,'ae597792490c65663b43112fe473b123981d9e19',1794399249698216,1794399249698216,NULL,1794485649698216,1);
INSERT INTO "sighting" VALUES(2,'checkout','development','develop-34a41a4',NULL,'34a41a422995511ce3e1044aad36135b08722c5f',1794485649698216,1794485649698216,NULL,1794572049698216,1);
INSERT INTO "sighting" VALUES(3,'checkout','qa','qa-ae59779',NULL,'ae597792490c65663b43112fe473b123981d9e19',1794492849698216,1794492849698216,NULL,1794579249698216,1);
INSERT INTO "sighting" VALUES(4,'checkout','development','develop-69d12ad',NULL,'69d12ad70c7e11282a0ade94f9140681b86e8be9',1794572049698216,1794572049698216,NULL,1794658449698216,1);
INSERT INTO "sighting" VALUES(5,'checkout','qa','qa-f71eafd',NULL,'f71eafd26660153d219943eddc9749cf2c6a5dfb',1794579249698216,1794579249698216,NULL,1794665649698216,1);
INSERT INTO "sighting" VALUES(6,'checkout','staging','staging-ae59779',NULL,'ae597792490c65663b43112fe473b123981d9e19',1794582849698216,1794582849698216,NULL,1794669249698216,1);
INSERT INTO "sighting" VALUES(7,'checkout','development','develop-27ac166',NULL,'27ac16622108c0e58178870f4063fa1dda0f5a7c',1794658449698216,1794658449698216,NULL,1794744849698216,1);
INSERT INTO "sighting" VALUES(8,'checkout','qa','qa-4e9cdaf',NULL,'4e9cdaf658ff91a2d9b3b21beab5421146d33e7c',1794665649698216,1794665649698216,NULL,1794752049698216,1);
INSERT INTO "sighting" VALUES(9,'checkout','staging','staging-7a7ee4e',NULL,'7a7ee4e3dfc0938deeae9ef956c9cc15f7afc962',1794669249698216,1794669249698216,NULL,1794755649698216,1);
INSERT INTO "sighting" VALUES(10,'checkout','prod','prod-ae59779',NULL,'ae597792490c65663b43112fe473b123981d9e19',1794672849698216,1794672849698216,NULL,1794759249698216,1);
INSERT INTO "sighting" VALUES(11,'checkout','development','develop-f264292',NULL,'f26429239faa8b91a1ca76e868214f85184bba31',1794744849698216,1794744849698216,NULL,1794831249698216,1);
INSERT INTO "sighting" VALUES(12,'checkout','qa','qa-41337dc',NULL,'41337dc70dc24d4c542f43b1e3394e9a3ccddcea',1794752049698216,1794752049698216,NULL,1794838449698216,1);
INSERT INTO "sighting" VALUES(13,'checkout','staging','staging-c9e8410',NULL,'c9e8410b2d568b76c96581b81a96cd24b5efee66',1794755649698216,1794755649698216,NULL,1794842049698216,1);
INSERT INTO "sighting" VALUES(14,'checkout','prod','prod-5d3355f',NULL,'5d3355fc6f088947d963c28f65d30c6a354b47fc',1794759249698216,1794759249698216,NULL,1794845649698216,1);
INSERT INTO "sighting" VALUES(15,'checkout','development','develop-563ba35',NULL,'563ba355c5f59ecf74bb398fb32f46b1225bc6b8',1794831249698216,1794831249698216,NULL,1794914066347355,1);
INSERT INTO "sighting" VALUES(16,'checkout','qa','qa-ad3bd64',NULL,'ad3bd641c57f0fa922f377e5935eebaaad8d5975',1794838449698216,1794838449698216,NULL,1794914074853715,1);
INSERT INTO "sighting" VALUES(17,'checkout','staging','staging-e63917c',NULL,'e63917c3daf75e5f6728e46dace95c7171a49a54',1794842049698216,1794842049698216,NULL,1794914084316099,1);
INSERT INTO "sighting" VALUES(18,'checkout','prod','prod-2fb3650',NULL,'2fb365086a45a5829d7a082335516cdf28b6ba1a',1794845649698216,1794845649698216,NULL,NULL,1);
INSERT INTO "sighting" VALUES(19,'mailer','development','build-1',NULL,'d7e345293c0969ef4a27ec3d0515f4faa1cb0296',1794399249698216,1794399249698216,NULL,1794485649698216,1);
INSERT INTO "sighting" VALUES(20,'storefront','development','develop-d7e3452',NULL,'d7e345293c0969ef4a27ec3d0515f4faa1cb0296',1794399249698216,1794399249698216,NULL,1794485649698216,1);
INSERT INTO "sighting" VALUES(21,'mailer','qa','build-2',NULL,'d7e345293c0969ef4a27ec3d0515f4faa1cb0296',1794406449698216,1794406449698216,NULL,1794492849698216,1);
INSERT INTO "sighting" VALUES(22,'storefront','qa','qa-d7e3452',NULL,'d7e345293c0969ef4a27ec3d0515f4faa1cb0296',1794406449698216,1794406449698216,NULL,1794492849698216,1);
INSERT INTO "sighting" VALUES(23,'mailer','staging','build-3',NULL,'d7e345293c0969ef4a27ec3d0515f4faa1cb0296',1794410049698216,1794410049698216,NULL,1794496449698216,1);
INSERT INTO "sighting" VALUES(24,'storefront','staging','staging-d7e3452',NULL,'d7e345293c0969ef4a27ec3d0515f4faa1cb0296',1794410049698216,1794410049698216,NULL,1794496449698216,1);
INSERT INTO "sighting" VALUES(25,'mailer','prod','build-4',NULL,'d7e345293c0969ef4a27ec3d0515f4faa1cb0296',1794413649698216,1794413649698216,NULL,1794500049698216,1);
INSERT INTO "sighting" VALUES(26,'storefront','prod','prod-d7e3452',NULL,'d7e345293c0969ef4a27ec3d0515f4faa1cb0296',1794413649698216,1794413649698216,NULL,1794500049698216,1);
INSERT INTO "sighting" VALUES(27,'mailer','development','build-5',NULL,'432c30d0e18258cac8ef8fabb6b3298445be562e',1794485649698216,1794485649698216,NULL,1794914185735958,1);
INSERT INTO "sighting" VALUES(28,'storefront','development','develop-432c30d',NULL,'432c30d0e18258cac8ef8fabb6b3298445be562e',1794485649698216,1794485649698216,NULL,1794914185687697,1);
INSERT INTO "sighting" VALUES(29,'mailer','qa','build-6',NULL,'2332a7adbcb74cf86b95f16eb1acfe3999713d79',1794492849698216,1794492849698216,NULL,1794914191949958,1);
INSERT INTO "sighting" VALUES(30,'storefront','qa','qa-2332a7a',NULL,'2332a7adbcb74cf86b95f16eb1acfe3999713d79',1794492849698216,1794492849698216,NULL,1794914191949969,1);
INSERT INTO "sighting" VALUES(31,'mailer','staging','build-7',NULL,'6d5f607a5688793f2ad11ab3619bf57824bc59df',1794496449698216,1794496449698216,NULL,NULL,1);
INSERT INTO "sighting" VALUES(32,'storefront','staging','staging-6d5f607',NULL,'6d5f607a5688793f2ad11ab3619bf57824bc59df',1794496449698216,1794496449698216,NULL,NULL,1);
INSERT INTO "sighting" VALUES(33,'mailer','prod','build-8',NULL,'a58daab1b34b41f05c9acf19e2b1c4a5cca47ef7',1794500049698216,1794500049698216,NULL,NULL,1);
INSERT INTO "sighting" VALUES(34,'storefront','prod','prod-a58daab',NULL,'a58daab1b34b41f05c9acf19e2b1c4a5cca47ef7',1794500049698216,1794500049698216,NULL,NULL,1);
INSERT INTO "sighting" VALUES(35,'search','development','1.0.1',NULL,'bb2e126af039325ce4d563049bc8dbbf7e6d12e4',1794402849698216,1794402849698216,NULL,1794489249698216,1);
INSERT INTO "sighting" VALUES(36,'search','qa','1.0.1',NULL,'bb2e126af039325ce4d563049bc8dbbf7e6d12e4',1794406449698216,1794406449698216,NULL,1794492849698216,1);
INSERT INTO "sighting" VALUES(37,'search','staging','1.0.1',NULL,'bb2e126af039325ce4d563049bc8dbbf7e6d12e4',1794410049698216,1794410049698216,NULL,1794496449698216,1);
INSERT INTO "sighting" VALUES(38,'search','prod','1.0.1',NULL,'bb2e126af039325ce4d563049bc8dbbf7e6d12e4',1794413649698216,1794413649698216,NULL,1794500049698216,1);
INSERT INTO "sighting" VALUES(39,'search','development','1.0.2',NULL,'d9d183962b688c7bc3ba768be17459b5d6fa2e3d',1794489249698216,1794489249698216,NULL,1794914066357149,1);
INSERT INTO "sighting" VALUES(40,'search','qa','1.0.2',NULL,'d9d183962b688c7bc3ba768be17459b5d6fa2e3d',1794492849698216,1794492849698216,NULL,NULL,1);
INSERT INTO "sighting" VALUES(41,'search','staging','1.0.2',NULL,'d9d183962b688c7bc3ba768be17459b5d6fa2e3d',1794496449698216,1794496449698216,NULL,NULL,1);
INSERT INTO "sighting" VALUES(42,'search','prod','1.0.2',NULL,'d9d183962b688c7bc3ba768be17459b5d6fa2e3d',1794500049698216,1794500049698216,NULL,NULL,1);
INSERT INTO "sighting" VALUES(43,'checkout','development','develop-5c4e072',NULL,'5c4e0722984acfc15f0e8d4da8b706b2e818603c',1794914066347355,1794914069363214,NULL,1794914089713776,1);
INSERT INTO "sighting" VALUES(44,'search','development','1.0.3',NULL,'7a209d9a6498f15e9440b6a9720c6cbb21ec1eb3',1794914066357149,1794914069392998,NULL,1794914196119596,1);
INSERT INTO "sighting" VALUES(45,'checkout','qa','qa-407abf1',NULL,'407abf16475d9a273a8f8a64ebde54f1110dda0e',1794914074853715,1794914077878506,NULL,1794914095427138,1);
INSERT INTO "sighting" VALUES(46,'checkout','staging','staging-154572b',NULL,'154572bab0aacb22cc809a75ce3525f432fb3d49',1794914084316099,1794914087387289,NULL,NULL,1);
INSERT INTO "sighting" VALUES(47,'checkout','development','develop-2dc2a7b',NULL,'2dc2a7b4cf7548cfd652cd9ebd769e652f38cb70',1794914089713776,1794914092765234,NULL,NULL,1);
INSERT INTO "sighting" VALUES(48,'checkout','qa','qa-d977c49',NULL,'d977c49a8ee99084464022d7cc4d51cd4b5b45d7',1794914095427138,NULL,'ReplicaSet "checkout-6b00019b" has timed out progressing.',NULL,1);
INSERT INTO "sighting" VALUES(49,'storefront','development','develop-edff101',NULL,'edff10113c4c78370564d2a354f9803faaf0c501',1794914185687697,1794914188741547,NULL,NULL,1);
INSERT INTO "sighting" VALUES(50,'mailer','development','build-9',NULL,'edff10113c4c78370564d2a354f9803faaf0c501',1794914185735958,1794914188741535,NULL,NULL,1);
INSERT INTO "sighting" VALUES(51,'mailer','qa','build-10',NULL,'1a7766a2e833c7486026ae498489081cf1d20cd3',1794914191949958,1794914194903843,NULL,NULL,1);
INSERT INTO "sighting" VALUES(52,'storefront','qa','qa-1a7766a',NULL,'1a7766a2e833c7486026ae498489081cf1d20cd3',1794914191949969,NULL,NULL,NULL,0);
INSERT INTO "sighting" VALUES(53,'search','development','1.0.4',NULL,'31f8f6c9e3d8499982495d4c07ec26f343858950',1794914196119596,1794914199243876,NULL,NULL,1);
CREATE TABLE tag (
    repository TEXT NOT NULL,
    name       TEXT NOT NULL,
    change_id  TEXT NOT NULL,
    PRIMARY KEY (repository, name)
);
INSERT INTO "tag" VALUES('acme/checkout','qa/2026.11.17-1','01a1e937-38af-7b85-8f35-9fdbabf1b978');
INSERT INTO "tag" VALUES('acme/checkout','staging/2026.11.17-1','01a1e937-5ded-7308-9ff5-73892f5733c1');
INSERT INTO "tag" VALUES('acme/checkout','qa/2026.11.17-2','01a1e937-8914-7200-90b7-26dae4b735ec');
INSERT INTO "tag" VALUES('acme/shop','qa/2026.11.17-1','01a1e939-0217-7202-b283-d8cd2287185b');
CREATE INDEX inbox_waiting ON inbox (due_at) WHERE done_at IS NULL;
CREATE INDEX inbox_done ON inbox (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX outbox_queue ON outbox (queue, id);
CREATE INDEX said_at ON said (said_at);
CREATE INDEX ledger_change ON ledger (change_id, id) WHERE change_id IS NOT NULL;
CREATE INDEX ledger_place ON ledger (artefact, environment, id);
CREATE UNIQUE INDEX sighting_now ON sighting (artefact, environment) WHERE ended_at IS NULL;
CREATE INDEX sighting_history ON sighting (artefact, environment, seen_at);
CREATE UNIQUE INDEX change_lock ON change (moves) WHERE active;
CREATE INDEX change_open ON change (open) WHERE open;
CREATE INDEX change_due ON change (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX change_short ON change (short);
CREATE INDEX change_place ON change (artefact, environment, asked_at);
CREATE INDEX said_channel ON said (channel);
CREATE INDEX plan_made ON plan (made_at);
COMMIT;
