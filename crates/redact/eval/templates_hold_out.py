"""Templates of the hold-out, written before any of its notes was generated; never tuned on."""

TEXT = [
    "Rheumatology outpatient clinic, {date}\nRe: {name}, {dob}, {address}\n\nDiagnosis: Seropositive arthritis. Both wrists swollen. Methotrexate raised to 20 mg weekly with folic acid. Blood tests every four weeks. Next appointment with {doctor}.",
    "Overnight summary for {last}: one episode of chest pain at 02:40, ECG unchanged, relieved by nitroglycerin. Son {relative_first} phoned twice from {city}. Troponin repeat at six.",
    "{name} (chart {mrn}) arrived by helicopter from {city} with burns of both hands. Intubated by {doctor_last}. Next of kin: {relative}, {phone}.",
    "Letter returned, addressee unknown: {name}, {street}, {zip} {city}. New address according to {relative}: {address}.",
    "Physiotherapy discharge. {first} reached full extension and climbs stairs freely. Home exercises explained to {relative_first}. Contact {nurse} at {email} with questions.",
    "Medication review by pharmacist {nurse}. {last} takes ramipril, amlodipine and pantoprazole. Interaction with grapefruit juice explained. {relative} fills the weekly box.",
    "Referral to dermatology\nName: {name}\nAddress: {street}, {city}\nTelephone: {phone}\nInsurance number: {plan}\nReason: Changing mole on the left calf\nReferred by: {doctor}",
    "Blood donor {case}, {first} {last}, lives in {city}. Hemoglobin 14.1. Donated 450 mL without incident on {date}.",
    "Home birth attended by {nurse} at {address}. Mother {name}. Placenta complete, blood loss 300 mL. Baby boy pink and crying.",
    "The mother of {first}, {relative}, asked that nothing be sent to {street}. Send letters to {email} instead. Appointment {date} with {doctor_last}.",
    "Accident report: {last} slipped in the bathroom of room {room}. Hematoma of the right elbow. Examined by {doctor} at 05:15. Family in {city} informed on {phone}.",
    "Cardiac rehab group, week 2. Present: {name}, {relative}, {nurse}. {first} cycled 15 minutes at 60 watts. Pulse 96, no symptoms.",
    "SSN {ssn}, account {account}. Payment plan agreed with {relative} of {address}. First instalment due {date}.",
    "Stoma nurse {nurse} met {first} and {relative_first} at home in {city}. Bag changed. Skin slightly red. Supplies to be delivered to {street}.",
    "Autopsy request declined by {relative}. {name} died at {old_age} in {city}. Certificate signed by {doctor}. Pacemaker {device} removed.",
    "Speed camera fine was sent to the ambulance, plate {plate}. Driver: {nurse}. Trip: {street}, {city} to Regional Hospital on {date}.",
    "Sleep clinic. {last}, a teacher from {city}, falls asleep in class. Epworth 17. CPAP trial from {date}, device {device}. Wife {relative_first} relieved.",
    "Consent for photographs given by {relative} for {name}. Stored at {url}; uploaded from {ip}. Licence of the photographer {licence}.",
    "Voicemail for Dr. {doctor_last}: this is {relative_first}, calling from {city} about {first}. Number {spoken_phone}. Attached code {hidden}.",
    "Fax to {fax}: discharge papers of {name}, born {dob}. The patient goes to {address} with support from {relative}. Stitches out after ten days.",
]

JSON = [
    {"case": "{case}", "person": {"first": "{first}", "last": "{last}", "born": "{dob}", "home": {"street": "{street}", "town": "{city}", "zip": "{zip}"}}, "finding": "Fracture of the distal radius, closed reduction"},
    {"from": "{nurse}", "to": ["{doctor}", "{relative}"], "subject": "Transport of {last}", "body": "Pick up at {address} on {date}. Oxygen needed."},
    {"appointments": [{"who": "{name}", "where": "Room {room}", "with": "{doctor}"}, {"who": "{relative}", "where": "Room {room}", "with": "{nurse}"}], "phone": "{phone}"},
    {"note": "{first} moved from {city} to {city}. {relative} keeps the old flat at {street}.", "member": "{plan}", "email": "{email}"},
]
