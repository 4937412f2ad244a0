"""Templates of the hold-out, written before any of its notes was generated; never tuned on."""

TEXT = [
    "Fracture clinic {date}. {name}, born {dob}, resident at {street}, {city}. Plaster removed, wrist stiff. Physiotherapy for six weeks. {doctor}",
    "Dear {doctor}, thank you for seeing {first}, who has moved to {city} with {relative_first}. Migraine twice a month, worse in spring. Kind regards, {nurse}",
    "Dialysis unit, bed {room}. {last} arrived late because the bus from {city} broke down. Weight 68 kg. Session shortened to three hours.",
    "Repeat prescription\nFor: {name} ({dob})\nDeliver to: {address}\nPhone: {phone}\nItems: Ramipril 5 mg, 28 tablets\nSigned: {doctor}",
    "Family meeting with {relative}, {relative_first} and {nurse}. They ask that {first} be moved nearer to {city}. Decision postponed.",
    "Lost property: a hearing aid of {last} was found in the taxi {plate}. Returned by post to {street}, {zip} {city}. Case {case}.",
    "Operation list {date}: {name}, {mrn}, hernia repair, surgeon {doctor}. Anaesthetist {nurse}. Fasting since midnight.",
    "Vaccination record of {first} {last}: born in {city}, tetanus {date}, hepatitis B complete. Card sent to {email}.",
    "Wound photo uploaded from {ip} to {url}. {nurse} thinks the margin of the ulcer of {last} looks clean. {doctor_last} agrees.",
    "Home visit, {address}. {name} sat in the garden and drank tea. No falls since {date}. {relative} cooks for both.",
    "Insurance asks: is {name}, policy {plan}, SSN {ssn}, still in treatment? Answer by fax {fax}. {doctor_last}",
    "Blood donor {first} {last}, {old_age} years, too old to donate. Sent home to {city}. Licence {licence} shown as proof.",
    "Poison line: {relative} from {city} called, {first} swallowed two batteries. X-ray advised. Call back {spoken_phone}.",
    "Sleep study of {name} on {date}, recorder {device}. Apnea index 31. CPAP fitted by {nurse}. Bill to {account}, {street}, {city}.",
    "Hospice, evening. {first} asked for {relative_first} and for music. {doctor_last} raised morphine. {relative} is travelling from {city} tonight.",
    "Visit cancelled: {last} stays with {relative} in {city} until {date}. VIN {vin} registered for the parking permit. Note {hidden}.",
    "Kidney stones again. {first} works outdoors near {city} and drinks little. Ultrasound: 4 mm stone on the left. Diet sheet posted to {address}.",
]

JSON = [
    {"patient": "{name}", "domicile": "{street}, {city}", "dob": "{dob}", "text": "Cataract on both eyes, surgery planned"},
    {"transfer": {"from": "{city}", "to": "{city}", "escort": "{nurse}", "reason": "Closer to {relative_first}"}, "record": "{mrn}", "room": "{room}"},
    {"label": ["{name}", "{street}", "{zip} {city}"], "parcel": "{case}", "content": "Stoma bags"},
    {"caller": "{relative}", "about": "{first} {last}", "address": "{address}", "phone": "{phone}", "said": "Fever since Monday, drinks well"},
]
