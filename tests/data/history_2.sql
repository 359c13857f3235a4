BEGIN TRANSACTION;
CREATE TABLE attached (
        turn INTEGER NOT NULL, fingerprint TEXT NOT NULL, detail TEXT, pdf_as TEXT,
        PRIMARY KEY (turn, fingerprint)) WITHOUT ROWID;
INSERT INTO "attached" VALUES(1,'sha256:f8b784c85c7c8173fdcfc74daee9fc36f7f209d8b145abd05e2918619420edae','auto','images');
CREATE TABLE attachment (
        notebook INTEGER NOT NULL, run TEXT NOT NULL, tag TEXT NOT NULL, fingerprint TEXT NOT NULL,
        json TEXT, PRIMARY KEY (notebook, run, tag));
INSERT INTO "attachment" VALUES(1,'','[x_1 X]','sha256:f8b784c85c7c8173fdcfc74daee9fc36f7f209d8b145abd05e2918619420edae','{"type":"media","tag":"[x_1 X]","field_name":"x","description":"X","modality":"IMAGE","fingerprint":"sha256:f8b784c85c7c8173fdcfc74daee9fc36f7f209d8b145abd05e2918619420edae","filename":"p.png","mime_type":"image/png","url":null,"file_id":null}');
CREATE TABLE body (turn INTEGER PRIMARY KEY, json TEXT NOT NULL);
INSERT INTO "body" VALUES(1,'{"id":"first","cell_id":"a","part":1,"status":"complete","model":"m/x","fresh":false,"system":"Be brief.","at":123.5,"seconds":1.25,"error":"none","finish_reason":"stop","messages":[{"role":"user","content":[{"type":"text","text":"Attached image [x_1 X]:"},{"type":"media","tag":"[x_1 X]","field_name":"x","description":"X","modality":"IMAGE","fingerprint":"sha256:f8b784c85c7c8173fdcfc74daee9fc36f7f209d8b145abd05e2918619420edae","filename":"p.png","mime_type":"image/png","url":null,"file_id":null},{"type":"text","text":"See [x_1 X]"}]},{"role":"assistant","content":"","tool_calls":[{"id":"1","name":"look","arguments":{"a":[1,null]},"raw_arguments":"{"}],"opaque":[{"provider":"p","item":{"signature":"s"}}]},{"role":"tool","tool_call_id":"1","name":"look","content":[{"type":"media","tag":"[x_1 X]","field_name":"x","description":"X","modality":"IMAGE","fingerprint":"sha256:f8b784c85c7c8173fdcfc74daee9fc36f7f209d8b145abd05e2918619420edae","filename":"p.png","mime_type":"image/png","url":null,"file_id":null}]},{"role":"assistant","content":"done"}],"skills":[{"type":"text","text":"skill"}],"forms":{"sha256:f8b784c85c7c8173fdcfc74daee9fc36f7f209d8b145abd05e2918619420edae":["auto","images"]},"usage":{"input_tokens":3,"output_tokens":0,"cached_tokens":1,"estimated":true},"citations":[{"quote":"q","tag":"[x_1 X]","url":"","title":"","page":2}]}');
INSERT INTO "body" VALUES(2,'{"id":"second","cell_id":"b","part":1,"status":"complete","model":"m","fresh":false,"system":null,"at":124.0,"seconds":0.0,"error":"","finish_reason":"","messages":[{"role":"user","content":"second"},{"role":"assistant","content":"x"}]}');
INSERT INTO "body" VALUES(3,'{"id":"again","cell_id":"b","part":1,"status":"complete","model":"m","fresh":false,"system":null,"at":125.0,"seconds":0.0,"error":"","finish_reason":"","messages":[{"role":"user","content":"again"},{"role":"assistant","content":"x"}]}');
CREATE TABLE conversation (
        id INTEGER PRIMARY KEY, notebook INTEGER NOT NULL, name TEXT NOT NULL, run TEXT NOT NULL,
        UNIQUE (notebook, name, run));
INSERT INTO "conversation" VALUES(1,1,'main','');
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "counter" VALUES('changes',3);
INSERT INTO "counter" VALUES('cleaned',1796008478);
CREATE TABLE forgotten (
        notebook INTEGER NOT NULL, fingerprint TEXT NOT NULL,
        PRIMARY KEY (notebook, fingerprint)) WITHOUT ROWID;
CREATE TABLE notebook (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO "notebook" VALUES(1,'a.ipynb');
CREATE TABLE run (notebook INTEGER, id TEXT, began REAL NOT NULL, PRIMARY KEY (notebook, id));
CREATE TABLE turn (
        seq INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, id TEXT NOT NULL, cell TEXT,
        place INTEGER NOT NULL, part INTEGER NOT NULL, state INTEGER NOT NULL, replaced_by INTEGER,
        asked INTEGER NOT NULL, changed INTEGER NOT NULL, again INTEGER NOT NULL,
        ended REAL NOT NULL, status TEXT NOT NULL, fresh INTEGER NOT NULL, system TEXT,
        skills INTEGER, model TEXT NOT NULL, usage TEXT);
INSERT INTO "turn" VALUES(1,1,'first','a',1,1,0,NULL,1,1,0,123.5,'complete',0,'Be brief.',1,'m/x','{"input_tokens":3,"output_tokens":0,"cached_tokens":1,"estimated":true}');
INSERT INTO "turn" VALUES(2,1,'second','b',2,1,1,3,2,2,0,124.0,'complete',0,NULL,NULL,'m',NULL);
INSERT INTO "turn" VALUES(3,1,'again','b',2,1,0,NULL,3,3,1,125.0,'complete',0,NULL,NULL,'m',NULL);
CREATE TABLE spent (
        notebook INTEGER NOT NULL, turn TEXT NOT NULL, pico INTEGER NOT NULL,
        known INTEGER NOT NULL, PRIMARY KEY (notebook, turn)) WITHOUT ROWID;
INSERT INTO "spent" VALUES(1,'first',4200000000,1);
CREATE INDEX turn_order ON turn (conversation, place, part) WHERE state = 0;
CREATE INDEX turn_fresh ON turn (conversation, place, part) WHERE state = 0 AND fresh = 1;
CREATE INDEX turn_system ON turn (conversation, place, part)
        WHERE state = 0 AND system IS NOT NULL;
CREATE INDEX turn_skills ON turn (conversation, place, part)
        WHERE state = 0 AND skills IS NOT NULL;
CREATE INDEX turn_again ON turn (conversation, changed, place, part)
        WHERE state = 0 AND again = 1;
CREATE INDEX turn_changed ON turn (conversation, changed) WHERE state = 0;
CREATE INDEX turn_id ON turn (id);
CREATE INDEX turn_cell ON turn (cell, conversation);
CREATE INDEX turn_replaced ON turn (replaced_by) WHERE replaced_by IS NOT NULL;
CREATE INDEX attached_content ON attached (fingerprint, turn);
COMMIT;
PRAGMA user_version=2;
